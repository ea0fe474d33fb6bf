"""Paths of a knowledge graph that answer a question: subgraphs, paths in them, and what these are worth.

LEGO-GraphRAG: every question is first given a subgraph (:mod:`.subgraphs`), then paths of it
(:mod:`.retrieval`); how well nodes, relations, triples and paths fit a question say scorers
or a selector, which may be a model. What comes of it is measured against gold answers (:mod:`.studies`).
"""
