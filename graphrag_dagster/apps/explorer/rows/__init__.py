"""Rows of tables that a person looks through."""
