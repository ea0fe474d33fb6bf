"""Answers and their context, measured against right answers."""
