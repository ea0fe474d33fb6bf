"""How well nodes, relations, triples and paths fit a question (spec_lego §2)."""
