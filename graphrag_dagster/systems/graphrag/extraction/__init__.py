"""Extraction of entities, relationships and claims from text units."""
