"""The code version that last made each table of a corpus, as Dagster has recorded it."""

from collections.abc import Collection

from dagster import AssetKey, AssetMaterialization, AssetRecordsFilter, DagsterEventType, DagsterInstance

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.resources.dagster_keys import asset_key

_CODE_VERSION = "dagster/code_version"


def code_of_tables(
    instance: DagsterInstance, run_id: str, warehouse: Warehouse, corpus: str, assets: Collection[Table]
) -> dict[str, str]:
    """Return the code version that last made each table of a corpus, by ``schema/table``.

    Args:
        instance: the Dagster instance with the records.
        run_id: the run that publishes.
        warehouse: the warehouse.
        corpus: the corpus.
        assets: tables that are assets; other tables may have records of an older release.
    """
    # One query for the whole run: one per table would take as long as the copy.
    of_run = instance.get_records_for_run(run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION)
    events = [record.event_log_entry.asset_materialization for record in of_run.records]
    latest = {str(event.asset_key.path): event for event in events if event and event.partition == corpus}
    with warehouse.reading(corpus) as reader:
        existing = [table for table in all_tables() if reader.has(table)]
    versions: dict[str, str] = {}
    for table in existing:
        # The tables of a group share one version.
        if table in assets and table.group not in versions:
            key = asset_key(table)
            event = latest.get(str(key.path)) or _last(instance, key, corpus)
            if event and (version := (event.tags or {}).get(_CODE_VERSION)):
                versions[table.group] = version
    return {"/".join(table.path): versions[table.group] for table in existing if table.group in versions}


def _last(instance: DagsterInstance, key: AssetKey, corpus: str) -> AssetMaterialization | None:
    of_asset = AssetRecordsFilter(asset_key=key, asset_partitions=[corpus])
    records = instance.fetch_materializations(of_asset, limit=1).records
    return records[0].asset_materialization if records else None
