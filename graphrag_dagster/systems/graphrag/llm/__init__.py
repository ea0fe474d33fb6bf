"""The language tasks done by a model."""
