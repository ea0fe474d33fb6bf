"""The assets: the steps of the pipeline as Dagster runs them, with their checks and hooks."""
