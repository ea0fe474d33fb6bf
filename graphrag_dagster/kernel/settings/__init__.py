"""Settings of a corpus: ``corpus.yaml`` and the shared parts of its sections."""
