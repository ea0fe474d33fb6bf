"""What was found of a graph, written back onto the nodes of a graph server."""
