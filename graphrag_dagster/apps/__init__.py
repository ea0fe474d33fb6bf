"""Applications that stand on published tables."""
