"""Shared helpers: ids, progress, processes, safe printing, stable scores."""
