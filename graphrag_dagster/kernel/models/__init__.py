"""Models: chat, embeddings, their endpoint, cache, limits and accounts."""
