"""The report of an evaluation: a single self-contained HTML page."""
