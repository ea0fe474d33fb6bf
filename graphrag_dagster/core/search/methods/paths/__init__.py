"""The way of answering ``paths``: paths of the graph from what a question names, and the words that state them."""
