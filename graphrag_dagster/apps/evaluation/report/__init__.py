"""The report of an evaluation: one HTML page that needs nothing but itself."""
