"""Studies of context nodes: the paper's measures next to random controls (spec_context_leiden §7)."""
