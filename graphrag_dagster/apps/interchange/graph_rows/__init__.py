"""From nodes and edges, in tables or not, to rows of imports."""
