"""The port to a chat model, and the retries that lead to a usable reply."""
