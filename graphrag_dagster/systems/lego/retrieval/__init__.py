"""Path retrieval: which paths of a subgraph answer a question (paper, Table 1 and B.8)."""
