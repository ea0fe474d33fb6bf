"""Vectors of nodes, by which they are compared with communities (spec_context_leiden §2)."""
