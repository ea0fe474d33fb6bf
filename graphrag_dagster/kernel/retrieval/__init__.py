"""Retrieval: which text units, entities and reports a question is about."""
