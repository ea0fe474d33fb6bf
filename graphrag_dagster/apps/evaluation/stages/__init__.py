"""The stages of an evaluation."""
