"""DuckDB files: opened often, brought up to date, and told when they are damaged."""
