"""A graph as arrays: nodes, edges, relations and community levels."""
