"""Texts: tokens, sentences, names, citations, and what words have in common."""
