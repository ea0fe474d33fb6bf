"""Merging, hierarchical Leiden and levels."""
