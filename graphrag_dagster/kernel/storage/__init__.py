"""DuckDB files, published snapshots, corpora on disk."""
