"""Queries of users over a corpus's tables."""
