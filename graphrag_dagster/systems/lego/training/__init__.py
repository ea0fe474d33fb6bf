"""Models that learn from gold answers which paths answer (paper B.6)."""
