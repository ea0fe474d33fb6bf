"""The last indexing run of a corpus, from Dagster's records."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dagster import DagsterInstance, RunRecord

_MOST_RUNS = 20
_INDEXING = ("index", "embed", "__ASSET_JOB")
_DONE = "SUCCESS"
_ENDED = ("FAILURE", "CANCELED", "CANCELING")


@dataclass(frozen=True, slots=True)
class HalfWay:
    """A run that has not come to its end.

    Attributes:
        run_id: its id.
        failed: whether it failed; otherwise it runs, or was killed so that nobody noted its end.
        begun: when it began.
        step: the one that failed.
    """

    run_id: str
    failed: bool
    begun: datetime
    step: str | None


def half_way(corpus: str) -> HalfWay | None:
    """Return the last run that was to index a corpus, unless it came to its end or there is none.

    Raises:
        DagsterInstanceError: Dagster's settings or records cannot be used.
    """
    # Late, since not every command asks, and Dagster is imported with it.
    from graphrag_dagster.kernel.pipeline.orchestration.dagster_instance import recorded

    with recorded() as instance:
        if instance is None or (record := _last(instance, corpus)) is None:
            return None
        run = record.dagster_run
        if run.status.value == _DONE:
            return None
        failed = run.status.value in _ENDED
        begun = datetime.fromtimestamp(record.start_time or record.create_timestamp.timestamp(), UTC)
        return HalfWay(run.run_id, failed, begun, _failed_step(instance, run.run_id) if failed else None)


def _last(instance: "DagsterInstance", corpus: str) -> "RunRecord | None":
    from dagster import RunsFilter

    wanted = RunsFilter(tags={"dagster/partition": corpus})
    records = instance.get_run_records(wanted, limit=_MOST_RUNS, order_by="id", ascending=False)
    return next((record for record in records if record.dagster_run.job_name in _INDEXING), None)


def _failed_step(instance: "DagsterInstance", run_id: str) -> str | None:
    from dagster import DagsterEventType

    failures = instance.get_records_for_run(run_id, of_type=DagsterEventType.STEP_FAILURE).records
    return failures[0].event_log_entry.step_key if failures else None
