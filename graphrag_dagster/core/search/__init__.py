"""One module per way of answering."""
