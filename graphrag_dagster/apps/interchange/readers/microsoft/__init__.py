"""Indexes that Microsoft GraphRAG made."""
