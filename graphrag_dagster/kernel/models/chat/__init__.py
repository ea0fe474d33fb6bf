"""The port to a chat model, and how a usable reply is got of it."""
