"""Paths of a corpus's graph: its questions with gold answers, and what instances make of them."""
