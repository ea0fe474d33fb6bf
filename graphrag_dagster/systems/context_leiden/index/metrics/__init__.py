"""What context nodes are worth: the paper's measures beside random choices (spec_context_leiden §7)."""
