"""CoTeRAG-S as a way of answering."""
