"""The context of an answer: its rows, chunks and citations."""
