"""Commands that create, show, roll back and delete corpora."""
