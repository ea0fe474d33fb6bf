"""Subgraph extraction: which part of the graph a question is about (paper, Table 1 and B.7)."""
