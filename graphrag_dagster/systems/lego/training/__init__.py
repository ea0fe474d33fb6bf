"""Models that learn from gold answers which paths answer (spec_lego §7, paper B.6)."""
