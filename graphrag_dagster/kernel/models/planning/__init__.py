"""What a plan of model calls is made from."""
