"""Graphs and indexes from elsewhere, and ours for other tools."""
