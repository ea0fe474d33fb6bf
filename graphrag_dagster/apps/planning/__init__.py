"""What is before a run: calls, tokens, money and time."""
