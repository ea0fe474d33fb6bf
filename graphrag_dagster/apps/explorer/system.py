"""What the explorer declares of itself."""

from graphrag_dagster.kernel.catalogue.system import System

SYSTEM = System(
    "explorer",
    "graphrag_dagster.apps.explorer",
    builds_on=("graphrag",),
    shown="graphrag_dagster.apps.explorer.publication:shown",
    superseded="graphrag_dagster.apps.explorer.snapshots.noted_changes:note_changes",
)
