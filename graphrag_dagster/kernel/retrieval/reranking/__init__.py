"""Putting the first text units that were found into a new order."""
