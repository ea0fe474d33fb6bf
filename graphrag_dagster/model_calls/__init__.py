"""Calls to models: the endpoint, what is remembered of it, and batches."""
