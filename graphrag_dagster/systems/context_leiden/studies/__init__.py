"""Studies of context nodes: the paper's measures next to random controls (§IV.A)."""
