"""Days and periods that a text names: which there are, and how each is written."""
