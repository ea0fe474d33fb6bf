"""The explorer: one page to see the map of a corpus, ask it, and read what answers rest on."""
