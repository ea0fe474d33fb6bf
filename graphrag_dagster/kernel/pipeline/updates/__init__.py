"""Updates of a corpus: what is outdated, and what is deleted."""
