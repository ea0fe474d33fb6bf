"""The domain: frames or small records in, frames or records out. Imports neither Dagster nor DuckDB."""
