"""Answering with CoTeRAG-S: matched communities, paths, validation, fallback store."""
