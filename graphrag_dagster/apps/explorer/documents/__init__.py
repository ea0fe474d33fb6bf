"""Documents, what is named in them, and what rests on them."""
