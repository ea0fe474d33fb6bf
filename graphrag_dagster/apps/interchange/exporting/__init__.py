"""The published snapshot of a corpus in the forms that other tools read."""
