"""Dagster's records of a corpus's runs, and their deletion."""

import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dagster import (
    AssetKey,
    DagsterEventType,
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    RunsFilter,
)

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.resources.dagster_instance import recorded_instance
from graphrag_dagster.resources.dagster_keys import CORPUS, PARTITION_TAG, asset_key
from graphrag_dagster.resources.unfinished_index import finished_note

#: Tags of a run of a range of partitions: its first and its last.
_RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
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
    """Return the runs of a corpus, newest first. One that was launched for several corpora was refused, and
    is of none.

    Runs of assets and checks of others are left out: their partition may merely have the same key.
    """
    tags = ({PARTITION_TAG: corpus}, dict.fromkeys(_RANGE, corpus))
    records = {
        one.storage_id: one for given in tags for one in instance.get_run_records(RunsFilter(tags=given))
    }
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

    return frozenset(asset_key(made) for step in STEPS for made in step.keys)


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
    for run_id in deleted:
        delete_run(instance, run_id)
    # Dagster keeps which partitions are made, beside the events that say so.
    instance.wipe_asset_cached_status([*_our_assets()])
    _rewrite_files(instance)
    return PurgedHistory(len(deleted), remaining, before, _bytes(instance))


def delete_run(instance: DagsterInstance, run_id: str) -> None:
    """Delete a run with its events, its logs, and the files and folders that bear its id."""
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    instance.delete_run(run_id)
    for path in Path(instance.root_directory).rglob(f"{run_id}*"):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


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
