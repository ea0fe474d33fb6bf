"""Deletes everything that Dagster stores about runs; its own deletion leaves much behind.

Dagster has no public name for the rest: this is the only module that imports its private modules.
"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster import DagsterInstance

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

#: The release of Dagster in which this was last looked at. Nothing depends on it when the code runs.
CHECKED_WITH = (1, 13)
_SOME = 500


def forget_runs(instance: DagsterInstance, run_ids: list[str]) -> None:
    """Delete all that Dagster's storage keeps of runs: events, logs, values, indexes, at last the records.

    The records go last: as long as they are there, the rest is found again after a kill.
    """
    for run_id in run_ids:
        instance.event_log_storage.delete_events(run_id)
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        shutil.rmtree(Path(instance.storage_directory()) / run_id, ignore_errors=True)
        _delete_file_of(instance, run_id)
    _clear_indexes(instance, run_ids)
    for run_id in run_ids:
        instance.run_storage.delete_run(run_id)


def _delete_file_of(instance: DagsterInstance, run_id: str) -> None:
    """Delete the file that SQLite storage keeps for each run."""
    from dagster._core.storage.event_log import SqliteEventLogStorage

    storage = _inner(instance.event_log_storage)
    if isinstance(storage, SqliteEventLogStorage):
        storage.dispose()
        file = Path(storage.path_for_shard(run_id))
        for one in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))):
            one.unlink(missing_ok=True)


def _clear_indexes(instance: DagsterInstance, run_ids: list[str]) -> None:
    """Delete what Dagster leaves behind of deleted runs: tags, check results, and each asset's last event."""
    from dagster._core.storage.event_log import SqlEventLogStorage
    from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, AssetKeyTable
    from dagster._core.storage.runs import SqlRunStorage
    from dagster._core.storage.runs.schema import RunTagsTable

    events, records = _inner(instance.event_log_storage), _inner(instance.run_storage)
    for start in range(0, len(run_ids), _SOME):
        some = run_ids[start : start + _SOME]
        if isinstance(events, SqlEventLogStorage):
            with events.index_connection() as connection:
                _forget_last_events(connection, AssetKeyTable, some)
                connection.execute(
                    AssetCheckExecutionsTable.delete().where(AssetCheckExecutionsTable.c.run_id.in_(some))
                )
        if isinstance(records, SqlRunStorage):
            with records.connect() as connection:
                connection.execute(RunTagsTable.delete().where(RunTagsTable.c.run_id.in_(some)))


def _forget_last_events(connection: "Connection", assets: Any, run_ids: list[str]) -> None:
    """Empty the copy of an asset's last event; Dagster then looks it up among the events that remain."""
    holding = assets.c.last_run_id.in_(run_ids)
    for run_id in run_ids:
        holding = holding | assets.c.last_materialization.contains(run_id)
    connection.execute(assets.update().where(holding).values(last_materialization=None, last_run_id=None))
    connection.execute(assets.update().values(cached_status_data=None))


def _inner(storage: object) -> object:
    """The storage itself, where an instance has both behind one."""
    from dagster._core.storage.legacy_storage import LegacyEventLogStorage, LegacyRunStorage

    if isinstance(storage, LegacyEventLogStorage):
        return storage._storage.event_log_storage  # noqa: SLF001 - it is handed out nowhere.
    if isinstance(storage, LegacyRunStorage):
        return storage._storage.run_storage  # noqa: SLF001 - as above.
    return storage
