"""Graphs that come from elsewhere: which files are of one graph, and what their rows hold."""
