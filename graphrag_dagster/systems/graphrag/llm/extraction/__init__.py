"""Entities, relationships and claims by a model."""
