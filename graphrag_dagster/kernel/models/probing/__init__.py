"""Finding out what an endpoint can do."""
