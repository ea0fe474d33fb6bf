"""Retrieval of the text units, entities and reports for a question."""
