"""The last run to index a corpus, as Dagster has recorded it."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.catalogue.registry import stages_made
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.pipeline.index_status import UnfinishedRun
from graphrag_dagster.kernel.storage.home import dagster_home

if TYPE_CHECKING:
    from dagster import DagsterInstance, DagsterRun, RunRecord


_MOST_RUNS = 20
_INDEXING = ("index", "embed")
#: The job of assets that are materialised without one, from the UI or by a backfill.
_CHOSEN_ASSETS = "__ASSET_JOB"
_DONE = "SUCCESS"
_ENDED = ("FAILURE", "CANCELED", "CANCELING")


def unfinished_index(corpus: str) -> UnfinishedRun | None:
    """Return the last run to index a corpus if it has not succeeded, else None.

    Dagster takes half a second to load: it is only asked where its records have changed since it said that
    there is none.

    Raises:
        DagsterInstanceError: Dagster's settings or records are unusable.
    """
    records, note = _state_of_records(), finished_note(corpus)
    if records and note.is_file() and note.read_bytes() == records.encode():
        return None
    found = _recorded(corpus)
    if records and found is None:
        with suppress(OSError):
            note.parent.mkdir(exist_ok=True)
            note.write_bytes(records.encode())
    return found


def finished_note(corpus: str) -> Path:
    """Return the file that says in which state of Dagster's records no index of a corpus was unfinished."""
    return dagster_home() / ".finished" / stable_id(corpus)


def _state_of_records() -> str:
    """Return what changes with every run that is recorded; blank where that cannot be told from files."""
    settings, runs = dagster_home() / "dagster.yaml", dagster_home() / "history" / "runs.db"
    # Records may lie elsewhere.
    if not runs.is_file() or not settings.is_file() or b"storage" in settings.read_bytes():
        return ""
    files = [file.stat() for file in (runs, runs.with_name("runs.db-wal")) if file.is_file()]
    return " ".join(f"{file.st_mtime_ns} {file.st_size}" for file in files)


def _recorded(corpus: str) -> UnfinishedRun | None:
    # Imported here because it imports Dagster, which not every command needs.
    from graphrag_dagster.resources.dagster_instance import recorded_instance

    with recorded_instance() as instance:
        if instance is None or (record := _last(instance, corpus)) is None:
            return None
        run = record.dagster_run
        if run.status.value == _DONE:
            return None
        failed = run.status.value in _ENDED
        begun = datetime.fromtimestamp(record.start_time or record.create_timestamp.timestamp(), UTC)
        return UnfinishedRun(
            run.run_id,
            "failed" if failed else "running or killed",
            begun.isoformat(timespec="seconds"),
            _failed_step(instance, run.run_id) if failed else None,
        )


def _last(instance: "DagsterInstance", corpus: str) -> "RunRecord | None":
    from dagster import RunsFilter

    from graphrag_dagster.resources.dagster_keys import PARTITION_TAG

    runs_of_corpus = RunsFilter(tags={PARTITION_TAG: corpus})
    records = instance.get_run_records(runs_of_corpus, limit=_MOST_RUNS, order_by="id", ascending=False)
    return next((record for record in records if _tells_of_index(record.dagster_run)), None)


def _tells_of_index(run: "DagsterRun") -> bool:
    """Whether a run says what became of the index: it was to publish, or it failed at a part of it."""
    if run.job_name != _CHOSEN_ASSETS:
        return run.job_name in _INDEXING
    if run.asset_selection is None:
        return True
    # Imported here because it imports Dagster, which not every command needs.
    from graphrag_dagster.kernel.pipeline.publishing import SNAPSHOT
    from graphrag_dagster.kernel.tables.declared_tables import all_tables
    from graphrag_dagster.resources.dagster_keys import asset_key

    if asset_key(SNAPSHOT) in run.asset_selection:
        return True
    made = set(stages_made("index"))
    indexed = {asset_key(table) for table in all_tables() if table.group in made}
    return run.status.value != _DONE and not indexed.isdisjoint(run.asset_selection)


def _failed_step(instance: "DagsterInstance", run_id: str) -> str | None:
    from dagster import DagsterEventType

    failures = instance.get_records_for_run(run_id, of_type=DagsterEventType.STEP_FAILURE).records
    return failures[0].event_log_entry.step_key if failures else None
