"""Dagster's own records of a corpus: runs, events and logs, with samples of table rows."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunRecord, RunsFilter

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.pipeline.orchestration.forgetting import forget_runs
from graphrag_dagster.kernel.pipeline.orchestration.partitions import CORPUS

_PARTITION = "dagster/partition"
_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
_BUSY_SECONDS = 60.0
_SOME = 500


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
