"""Text processing: tokens, sentences, evidence, periods and similarity."""
