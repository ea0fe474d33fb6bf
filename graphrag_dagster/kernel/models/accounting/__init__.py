"""What calls of a model cost: use, money, limits of both, and what is to be expected."""
