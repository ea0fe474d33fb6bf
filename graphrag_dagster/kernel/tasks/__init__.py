"""Language tasks: their ports, and the provider of their implementations."""
