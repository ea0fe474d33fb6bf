"""Lineage: the sources of rows, and the impact of a document."""
