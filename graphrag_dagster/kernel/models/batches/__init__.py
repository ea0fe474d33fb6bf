"""Requests sent through a provider's Batch API."""
