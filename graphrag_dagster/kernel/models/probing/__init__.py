"""Detection of an endpoint's capabilities."""
