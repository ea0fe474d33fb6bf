"""Dagster integration: partitions, conditions, hooks, executors."""
