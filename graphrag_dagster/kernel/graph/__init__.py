"""A graph as arrays: nodes, edges, relations, levels of communities."""
