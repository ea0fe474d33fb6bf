"""What becomes of the tables of a corpus that changes: what is outdated, what goes."""
