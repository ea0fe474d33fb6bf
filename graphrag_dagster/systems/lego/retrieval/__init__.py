"""Path retrieval: which paths of a subgraph answer a question (spec_lego §4, §7)."""
