"""What the explorer declares of itself."""

from graphrag_dagster.kernel.catalogue.system import System

SYSTEM = System(
    "explorer",
    "graphrag_dagster.apps.explorer",
    builds_on=("graphrag",),
    shown="graphrag_dagster.apps.explorer.explorer:shown",
    superseded="graphrag_dagster.apps.explorer.snapshot_changes:record_changes",
)
