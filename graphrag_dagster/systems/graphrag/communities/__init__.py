"""Hierarchical communities of a changing graph."""
