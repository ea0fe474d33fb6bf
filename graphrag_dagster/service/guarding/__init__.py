"""Who may call, how much, and what is told of a failure."""
