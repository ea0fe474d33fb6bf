"""Graphs in XML: GraphML and GEXF."""
