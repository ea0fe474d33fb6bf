"""Retrieval: which text units and entities a question is about."""
