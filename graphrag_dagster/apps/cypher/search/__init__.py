"""The search method ``graph``: nodes and edges by a query, community summaries, or both."""
