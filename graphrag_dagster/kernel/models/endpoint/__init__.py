"""The model endpoint: any OpenAI-compatible server, its limits, and what it turns out to be able to do."""
