"""The ways of answering."""
