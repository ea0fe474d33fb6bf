"""Names in a text unit: where they stand, and what they name."""
