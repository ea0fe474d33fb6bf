"""Each corpus as a model of an OpenAI-compatible server."""
