"""The way of answering ``paths``: paths from what a question names, and the words that state them."""
