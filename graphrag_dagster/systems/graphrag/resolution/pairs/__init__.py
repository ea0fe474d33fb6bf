"""Pairs of names: candidates, evidence for and against a match, and its probability."""
