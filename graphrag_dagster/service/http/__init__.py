"""The HTTP server and its plain routes."""
