"""The published systems, each in one room."""
