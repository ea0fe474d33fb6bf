"""Cost of model calls: usage, money, limits of both, and estimates."""
