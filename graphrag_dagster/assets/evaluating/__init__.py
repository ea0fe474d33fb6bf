"""Questions, answers, and what is found out about them."""
