"""The tables of an evaluation."""
