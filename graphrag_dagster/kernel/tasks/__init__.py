"""Language tasks: the ports, and the session that hands out who does each."""
