"""Tables of an evaluation."""
