"""Corpora served over HTTP (plain and OpenAI-compatible) and over the Model Context Protocol."""
