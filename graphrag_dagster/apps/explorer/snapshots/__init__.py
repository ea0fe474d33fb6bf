"""Published snapshots that are open, and what differs between them."""
