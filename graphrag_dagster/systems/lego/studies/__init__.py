"""Questions with gold answers, and what instances make of them."""
