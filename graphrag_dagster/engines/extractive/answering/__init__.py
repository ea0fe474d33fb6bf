"""Answering by rule: what a question wants, and the sentences that give it."""
