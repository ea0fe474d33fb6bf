"""Graphs in tables and lists of edges."""
