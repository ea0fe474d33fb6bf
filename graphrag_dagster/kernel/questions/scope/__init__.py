"""Which documents a question is answered from, and which of them it names."""
