"""The map of the graph: communities as cells, entities as points."""
