"""The claims of answers, and how many different ones there are."""
