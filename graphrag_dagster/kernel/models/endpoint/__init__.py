"""The model endpoint: any OpenAI-compatible server, its limits, and its detected capabilities."""
