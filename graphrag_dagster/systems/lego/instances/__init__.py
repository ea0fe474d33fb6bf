"""Instances of LEGO-GraphRAG, from the nodes a question begins with to its answer."""
