"""DuckDB files: frequent opening, upgrades, and detection of damage."""
