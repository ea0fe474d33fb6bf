"""How the pipeline runs in Dagster: partitions, conditions, hooks, executors."""
