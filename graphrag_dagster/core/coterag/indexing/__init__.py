"""What CoTeRAG-S makes when an index is made: stores, communities, descriptions, summaries, thresholds."""
