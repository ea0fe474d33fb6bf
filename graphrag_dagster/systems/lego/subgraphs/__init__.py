"""Subgraph extraction: which part of the graph a question is about (spec_lego §3, §8)."""
