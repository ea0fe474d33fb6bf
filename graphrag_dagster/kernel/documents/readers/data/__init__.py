"""Readers of data: tables, JSON, notebooks, Parquet."""
