"""The search methods of GraphRAG, one module each."""
