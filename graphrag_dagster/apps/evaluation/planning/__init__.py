"""Estimates of an evaluation's model calls."""
