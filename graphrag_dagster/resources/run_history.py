"""Dagster's records of a corpus's runs, and their complete deletion.

Dagster has no public API for parts of this. This is the only module that imports its private modules.
"""

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster import (
    AssetKey,
    DagsterEventType,
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    RunRecord,
    RunsFilter,
)

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.resources.dagster_instance import recorded_instance
from graphrag_dagster.resources.dagster_keys import CORPUS
from graphrag_dagster.resources.unfinished_index import finished_note

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


#: The Dagster release with which this was last verified; not used at run time.
CHECKED_WITH = (1, 13)
_SOME = 500


def forget_runs(instance: DagsterInstance, run_ids: list[str]) -> None:
    """Delete everything that Dagster's storage keeps of runs: events, logs, values, indexes and records.

    The records are deleted last, so that the rest is found again if the process is killed.
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

    storage = _inner_storage(instance.event_log_storage)
    if isinstance(storage, SqliteEventLogStorage):
        storage.dispose()
        file = Path(storage.path_for_shard(run_id))
        for path in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))):
            path.unlink(missing_ok=True)


def _clear_indexes(instance: DagsterInstance, run_ids: list[str]) -> None:
    """Delete leftovers of deleted runs: tags, check results, and each asset's last event."""
    from dagster._core.storage.event_log import SqlEventLogStorage
    from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, AssetKeyTable
    from dagster._core.storage.runs import SqlRunStorage
    from dagster._core.storage.runs.schema import RunTagsTable

    events, records = _inner_storage(instance.event_log_storage), _inner_storage(instance.run_storage)
    for start in range(0, len(run_ids), _SOME):
        batch = run_ids[start : start + _SOME]
        if isinstance(events, SqlEventLogStorage):
            with events.index_connection() as connection:
                _forget_last_events(connection, AssetKeyTable, batch)
                connection.execute(
                    AssetCheckExecutionsTable.delete().where(AssetCheckExecutionsTable.c.run_id.in_(batch))
                )
        if isinstance(records, SqlRunStorage):
            with records.connect() as connection:
                connection.execute(RunTagsTable.delete().where(RunTagsTable.c.run_id.in_(batch)))


def _forget_last_events(connection: "Connection", assets: Any, run_ids: list[str]) -> None:
    """Clear the copy of an asset's last event, so that Dagster looks it up among the remaining events."""
    affected = assets.c.last_run_id.in_(run_ids)
    for run_id in run_ids:
        affected = affected | assets.c.last_materialization.contains(run_id)
    connection.execute(assets.update().where(affected).values(last_materialization=None, last_run_id=None))
    connection.execute(assets.update().values(cached_status_data=None))


def _inner_storage(storage: object) -> object:
    """Return the actual storage if the instance has both behind one."""
    from dagster._core.storage.legacy_storage import LegacyEventLogStorage, LegacyRunStorage

    if isinstance(storage, LegacyEventLogStorage):
        return storage._storage.event_log_storage  # noqa: SLF001 - there is no public accessor.
    if isinstance(storage, LegacyRunStorage):
        return storage._storage.run_storage  # noqa: SLF001 - as above.
    return storage


_PARTITION = "dagster/partition"
_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
_BUSY_SECONDS = 60.0


class DagsterHistoryError(GraphragError):
    """Dagster's storage cannot be cleared."""


@dataclass(frozen=True, slots=True)
class PurgedHistory:
    """Numbers of deleted and remaining runs, and sizes of Dagster's files in bytes before and after."""

    runs: int
    kept: int
    before: int
    after: int


def runs_of(instance: DagsterInstance, corpus: str) -> list[DagsterRun]:
    """Return the runs of a corpus, newest first: runs of its partition, or of a range that contains it.

    Runs of assets and checks of others are left out: their partition may merely have the same key.
    """
    records = {record.dagster_run.run_id: record for record in _records(instance, {_PARTITION: corpus})}
    names = list(instance.get_dynamic_partitions(str(CORPUS.name)))
    if corpus in names:
        position = names.index(corpus)
        upto, since = names[: position + 1], set(names[position:])
        for start in range(0, len(upto), _SOME):
            for record in _records(instance, {_FIRST: upto[start : start + _SOME]}):
                if record.dagster_run.tags.get(_LAST) in since:
                    records[record.dagster_run.run_id] = record
    newest = sorted(records.values(), key=lambda r: (r.create_timestamp, r.storage_id), reverse=True)
    return [record.dagster_run for record in newest if _is_ours(instance, record.dagster_run)]


def _is_ours(instance: DagsterInstance, run: DagsterRun) -> bool:
    keys = {*(run.asset_selection or ()), *(check.asset_key for check in run.asset_check_selection or ())}
    if not keys:
        # A whole job.
        planned = DagsterEventType.ASSET_MATERIALIZATION_PLANNED
        records = instance.get_records_for_run(run.run_id, of_type=planned).records
        keys = {record.asset_key for record in records if record.asset_key}
    return not keys.isdisjoint(_our_assets())


@cache
def _our_assets() -> frozenset[AssetKey]:
    # Imported here because it imports all systems.
    from graphrag_dagster.kernel.pipeline.steps import STEPS

    named = (
        key.asset_key if isinstance(key, Table) else key.split("/") for step in STEPS for key in step.keys
    )
    return frozenset(map(AssetKey, named))


def purge_history(instance: DagsterInstance, corpus: str, *, keep_last: bool = False) -> PurgedHistory:
    """Delete the records of a corpus's runs with their events, logs and stored values.

    Dagster then shows the corpus's assets as never made, unless ``keep_last``. SQLite files are rewritten, so
    that the deleted bytes are gone; other databases reclaim space themselves.

    Args:
        instance: the Dagster instance.
        corpus: the corpus.
        keep_last: keep the newest successful run of the job ``index``, and all later ones.

    Raises:
        DagsterHistoryError: another process uses a file of Dagster's for too long.
    """
    before = _bytes(instance)
    runs = runs_of(instance, corpus)
    remaining = _count_kept(runs) if keep_last else 0
    deleted = [run.run_id for run in runs[remaining:]]
    forget_runs(instance, deleted)
    _rewrite_files(instance)
    return PurgedHistory(len(deleted), remaining, before, _bytes(instance))


def forget_partition(instance: DagsterInstance, corpus: str) -> None:
    """Delete the corpus's partition, and the note that its index was finished."""
    finished_note(corpus).unlink(missing_ok=True)
    if instance.has_dynamic_partition(str(CORPUS.name), corpus):
        instance.delete_dynamic_partition(str(CORPUS.name), corpus)


def forget_partition_if_recorded(corpus: str) -> None:
    """Delete the corpus's partition where Dagster has records; one that cannot be deleted stays."""
    with suppress(GraphragError, OSError), recorded_instance() as instance:
        if instance is not None:
            forget_partition(instance, corpus)


def _records(instance: DagsterInstance, tags: Mapping[str, str | Sequence[str]]) -> Sequence[RunRecord]:
    return instance.get_run_records(RunsFilter(tags=tags))


def _count_kept(runs: list[DagsterRun]) -> int:
    for index, run in enumerate(runs):
        if run.job_name == "index" and run.status is DagsterRunStatus.SUCCESS:
            return index + 1
    return 0


def _rewrite_files(instance: DagsterInstance) -> None:
    for file in _files(instance):
        try:
            with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                connection.execute("vacuum")
                busy = connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        except sqlite3.Error as error:
            raise _in_use_error(file, str(error)) from error
        if busy:
            raise _in_use_error(file, "it is being read")


def _in_use_error(file: Path, why: str) -> DagsterHistoryError:
    return DagsterHistoryError(
        f"the runs are deleted, but traces remain in {file} ({why}); stop the Dagster processes that use it, "
        "and delete the history again"
    )


def _files(instance: DagsterInstance) -> list[Path]:
    """Return the SQLite databases below the instance's folder."""
    root = Path(instance.root_directory)
    folders = (root / "history", root / "schedules")
    files = (path for folder in folders for path in sorted(folder.rglob("*.db")))
    return [path for path in files if path.read_bytes()[:6] == b"SQLite"]


def _bytes(instance: DagsterInstance) -> int:
    root = Path(instance.root_directory)
    return sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
