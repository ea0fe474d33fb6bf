"""What is remembered of the model endpoint: replies, vectors, what used them, and what they cost."""
