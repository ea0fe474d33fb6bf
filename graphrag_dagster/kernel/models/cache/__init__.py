"""The LLM cache: replies and vectors of the model endpoint, what used them, and what they cost."""
