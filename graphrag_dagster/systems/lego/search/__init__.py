"""The search method `lego`, and the arrays of the graph that it walks."""
