"""The stage of CoTeRAG-S: stores, communities, summaries, terms, vectors, thresholds."""
