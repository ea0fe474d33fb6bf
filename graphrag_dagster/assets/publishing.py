"""The index as it is asked: a copy that no run touches."""

from dagster import AssetExecutionContext, AssetKey, MaterializeResult, asset

from graphrag_dagster.assets.declare import code_version, key_of
from graphrag_dagster.partitions import CORPUS
from graphrag_dagster.resources.published import SEARCHED, publish
from graphrag_dagster.resources.warehouse import Warehouse


@asset(
    key=AssetKey(["marts", "published_snapshot"]),
    group_name="marts",
    kinds={"duckdb"},
    deps=[key_of(table) for table in SEARCHED],
    partitions_def=CORPUS,
    code_version=code_version("resources/published.py"),
)
def published_snapshot(context: AssetExecutionContext, warehouse: Warehouse) -> MaterializeResult[None]:
    """The tables that a search reads, copied once all checks have passed: who asks waits for no run."""
    made, changed = publish(warehouse, context.partition_key)
    return MaterializeResult(
        metadata={
            "file": str(made.file),
            "version": made.version,
            "changed": changed,
            "bytes": made.file.stat().st_size,
        }
    )
