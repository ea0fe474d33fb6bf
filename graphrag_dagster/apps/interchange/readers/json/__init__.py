"""Graphs in JSON."""
