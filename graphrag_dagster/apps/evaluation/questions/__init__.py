"""The questions of an evaluation."""
