"""Recall as a constraint: subgraphs no larger than it takes to hold enough of the answers (spec_lego §6)."""
