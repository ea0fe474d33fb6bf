"""The stages of the index."""
