"""The search method `graph`: a query over the graph, or the nearest community reports."""
