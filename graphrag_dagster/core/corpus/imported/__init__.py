"""What comes with a graph from elsewhere, as the tables of a corpus have it."""
