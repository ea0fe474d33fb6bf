"""Whether the snapshot of each corpus is up to date: a check by corpus, with a job and a schedule."""

import warnings
from datetime import UTC, datetime, timedelta

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetCheckSeverity,
    AssetKey,
    AssetRecordsFilter,
    AssetSelection,
    DagsterInstance,
    DefaultScheduleStatus,
    PreviewWarning,
    ResourceParam,
    RunRequest,
    ScheduleEvaluationContext,
    asset_check,
    define_asset_job,
    schedule,
)

from graphrag_dagster.assets.step_hooks import PARTITION_TAG
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.pipeline.corpus_changes import changed_since_published
from graphrag_dagster.kernel.pipeline.steps import SNAPSHOT
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_keys import CORPUS

_SNAPSHOT = AssetKey(SNAPSHOT.split("/"))

with warnings.catch_warnings():
    warnings.simplefilter("ignore", PreviewWarning)

    @asset_check(
        asset=_SNAPSHOT,
        name="fresh",
        partitions_def=CORPUS,
        description="The corpus was indexed within publishing.stale_after_hours, or nothing of it has "
        "changed since",
    )
    def fresh(
        context: AssetCheckExecutionContext,
        graphrag_corpora: ResourceParam[CorpusStore],
        graphrag_warehouse: ResourceParam[Warehouse],
    ) -> AssetCheckResult:
        """Warn if the snapshot of a corpus is older than its files or settings, and has been for too long."""
        return freshness(
            context.partition_key, graphrag_corpora, graphrag_warehouse, context.instance, datetime.now(UTC)
        )


def freshness(
    corpus: str, corpora: CorpusStore, warehouse: Warehouse, instance: DagsterInstance, now: datetime
) -> AssetCheckResult:
    """Return the result of the check for one corpus at a time.

    Files are read only where the last index is older than the corpus allows.

    Raises:
        CorpusError: no such corpus.
        SettingsError: its settings are invalid.
    """
    allowed = timedelta(hours=corpora.settings(corpus).publishing.stale_after_hours)
    indexed = _last_indexed(corpus, warehouse, instance)
    if indexed is None:
        return _result(passed=False, reason="nothing is published yet")
    age = now - indexed
    told: dict[str, str | float] = {
        "indexed": indexed.isoformat(timespec="seconds"),
        "hours": round(age / timedelta(hours=1), 2),
    }
    if age <= allowed:
        return _result(passed=True, reason="indexed lately", **told)
    if changed_since_published(corpora, warehouse, corpus):
        return _result(passed=False, reason="files or settings differ from what is published", **told)
    return _result(passed=True, reason="nothing has changed since", **told)


def _last_indexed(corpus: str, warehouse: Warehouse, instance: DagsterInstance) -> datetime | None:
    """Return when the corpus was last indexed; a run that changes nothing publishes no new snapshot."""
    try:
        snapshot = published(warehouse, corpus)
    except WarehouseError:
        return None
    if snapshot is None:
        return None
    of_corpus = AssetRecordsFilter(asset_key=_SNAPSHOT, asset_partitions=[corpus])
    records = instance.fetch_materializations(of_corpus, limit=1).records
    at = [datetime.fromisoformat(snapshot.published)]
    at += [datetime.fromtimestamp(record.timestamp, UTC) for record in records]
    return max(at)


def _result(*, passed: bool, **told: str | float) -> AssetCheckResult:
    return AssetCheckResult(passed=passed, severity=AssetCheckSeverity.WARN, metadata=told)


FRESHNESS_JOB = define_asset_job(
    "freshness",
    selection=AssetSelection.checks(fresh),
    description="Whether the snapshot of a corpus is up to date",
)


@schedule(
    job_name="freshness",
    cron_schedule="0 6 * * *",
    default_status=DefaultScheduleStatus.STOPPED,
    description="Every morning: whether the snapshot of each corpus is up to date",
)
def morning(
    context: ScheduleEvaluationContext, graphrag_corpora: ResourceParam[CorpusStore]
) -> list[RunRequest]:
    """Request the check of every corpus that has a partition and a folder."""
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    at = context.scheduled_execution_time.isoformat()
    return [
        # A job of checks alone has no partitions for Dagster, whatever those of its checks (1.13.27).
        RunRequest(run_key=f"freshness-{at}-{name}", tags={PARTITION_TAG: name})
        for name in sorted(known & set(graphrag_corpora.names()))
    ]
