"""Requests by a provider's Batch API."""
