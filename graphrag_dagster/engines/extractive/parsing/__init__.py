"""Sentences as a parser sees them."""
