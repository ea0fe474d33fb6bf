"""Language technology without a chat model."""
