"""The files of a corpus: which there are, and what their bytes and columns mean."""
