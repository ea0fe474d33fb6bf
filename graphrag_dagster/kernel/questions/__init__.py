"""A question, the search for its answer, and the answer with its sources."""
