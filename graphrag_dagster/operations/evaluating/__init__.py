"""The questions and the report of an evaluation."""
