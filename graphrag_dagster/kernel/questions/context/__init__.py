"""What a model is shown: rows of a context."""
