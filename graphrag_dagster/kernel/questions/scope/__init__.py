"""Which documents of a corpus a question is answered from, and which of them it names itself."""
