"""Dagster's own records of a corpus's runs, and their complete deletion.

Dagster has no public name for the rest: this is the only module that imports its private modules.
"""

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunRecord, RunsFilter

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.pipeline.orchestration.dagster_keys import CORPUS

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


_PARTITION = "dagster/partition"
_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
_BUSY_SECONDS = 60.0


class DagsterHistoryError(GraphragError):
    """Dagster's storage cannot be cleared."""


@dataclass(frozen=True, slots=True)
class PurgedHistory:
    """Runs deleted and kept, and bytes of Dagster's files before and after."""

    runs: int
    kept: int
    before: int
    after: int


def runs_of(instance: DagsterInstance, corpus: str) -> list[DagsterRun]:
    """Return the runs of a corpus, the newest first: of its partition, or of a range that holds it."""
    found = {one.dagster_run.run_id: one for one in _records(instance, {_PARTITION: corpus})}
    names = list(instance.get_dynamic_partitions(str(CORPUS.name)))
    if corpus in names:
        place = names.index(corpus)
        upto, since = names[: place + 1], set(names[place:])
        for start in range(0, len(upto), _SOME):
            for one in _records(instance, {_FIRST: upto[start : start + _SOME]}):
                if one.dagster_run.tags.get(_LAST) in since:
                    found[one.dagster_run.run_id] = one
    records = sorted(found.values(), key=lambda one: (one.create_timestamp, one.storage_id), reverse=True)
    return [one.dagster_run for one in records]


def purge_history(instance: DagsterInstance, corpus: str, *, keep_last: bool = False) -> PurgedHistory:
    """Delete the records of a corpus's runs with their events, logs and stored values.

    Dagster then shows the corpus's assets as never made, unless ``keep_last``. Where its storage is SQLite
    files, they are written anew so that the deleted bytes are gone; another database looks after its own.

    Args:
        instance: whose storage.
        corpus: its name.
        keep_last: keep the newest successful run of the job ``index``, and all that began after it.

    Raises:
        DagsterHistoryError: a file of Dagster's is in use by another process for too long.
    """
    before = _bytes(instance)
    runs = runs_of(instance, corpus)
    kept = _kept(runs) if keep_last else 0
    going = [run.run_id for run in runs[kept:]]
    forget_runs(instance, going)
    _rewrite_files(instance)
    return PurgedHistory(len(going), kept, before, _bytes(instance))


def forget_partition(instance: DagsterInstance, corpus: str) -> None:
    """Delete the corpus from the partitions."""
    if instance.has_dynamic_partition(str(CORPUS.name), corpus):
        instance.delete_dynamic_partition(str(CORPUS.name), corpus)


def _records(instance: DagsterInstance, tags: Mapping[str, str | Sequence[str]]) -> Sequence[RunRecord]:
    return instance.get_run_records(RunsFilter(tags=tags))


def _kept(runs: list[DagsterRun]) -> int:
    for place, run in enumerate(runs):
        if run.job_name == "index" and run.status is DagsterRunStatus.SUCCESS:
            return place + 1
    return 0


def _rewrite_files(instance: DagsterInstance) -> None:
    for file in _files(instance):
        try:
            with closing(sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                connection.execute("vacuum")
                busy = connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
        except sqlite3.Error as error:
            raise _in_use(file, str(error)) from error
        if busy:
            raise _in_use(file, "it is being read")


def _in_use(file: Path, why: str) -> DagsterHistoryError:
    return DagsterHistoryError(
        f"the runs are deleted, but traces remain in {file} ({why}); stop the Dagster processes that use it, "
        "and purge again"
    )


def _files(instance: DagsterInstance) -> list[Path]:
    """The SQLite databases below the instance's folder."""
    root = Path(instance.root_directory)
    folders = (root / "history", root / "schedules")
    found = (file for folder in folders for file in sorted(folder.rglob("*.db")))
    return [file for file in found if file.read_bytes()[:6] == b"SQLite"]


def _bytes(instance: DagsterInstance) -> int:
    root = Path(instance.root_directory)
    return sum(file.stat().st_size for file in root.rglob("*") if file.is_file())
