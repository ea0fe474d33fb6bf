"""Readers of marked-up text: HTML, Markdown, reStructuredText."""
