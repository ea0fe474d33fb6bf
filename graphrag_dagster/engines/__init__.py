"""Who does the language tasks of a corpus."""
