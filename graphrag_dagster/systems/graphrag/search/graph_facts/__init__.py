"""Nodes and edges of the graph as facts that are cited."""
