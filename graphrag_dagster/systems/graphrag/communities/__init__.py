"""Hierarchical communities of a graph that changes."""
