"""The files of a corpus: discovery, decoding, and the meaning of columns."""
