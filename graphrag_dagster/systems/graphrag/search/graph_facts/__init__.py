"""Nodes and edges of the graph as citable facts."""
