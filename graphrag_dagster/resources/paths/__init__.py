"""The arrays of a corpus's graph, beside the snapshot that they are made of."""
