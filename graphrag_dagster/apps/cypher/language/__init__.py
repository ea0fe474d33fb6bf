"""Cypher as far as it only reads: words, expressions, patterns, and the guard that writes queries anew."""
