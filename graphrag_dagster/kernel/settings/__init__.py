"""Settings of a corpus: ``corpus.yaml``, and what its sections have in common."""
