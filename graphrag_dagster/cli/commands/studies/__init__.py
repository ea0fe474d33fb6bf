"""Commands that evaluate an index and compare search methods."""
