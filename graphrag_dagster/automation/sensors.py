"""Sensors and schedules, all off by default."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim
from dagster import (
    AssetSelection,
    AutomationConditionSensorDefinition,
    DefaultScheduleStatus,
    DefaultSensorStatus,
    ResourceParam,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    schedule,
    sensor,
)

from graphrag_dagster.assets.step_assets import INDEX
from graphrag_dagster.automation.corpora_sensor import corpora_sensor
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.corpus_changes import changed_since_published
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_keys import CORPUS


@sensor(
    job_name=INDEX,
    minimum_interval_seconds=60,
    default_status=DefaultSensorStatus.STOPPED,
    description="Collects finished batches from the model provider, and resumes the index of their corpora",
)
def finished_batches(
    context: SensorEvaluationContext, graphrag_memory: ResourceParam[LLMCache]
) -> SensorResult:
    """Request a run for every corpus that is no longer waiting for a batch."""
    # Imported here because runs do not need it.
    from graphrag_dagster.kernel.models.batch_store import BatchStore, refresh_all
    from graphrag_dagster.kernel.storage.corpus_store import models_of

    database = graphrag_memory.database()
    for problem in refresh_all(database, models_of):
        context.log.warning(problem)
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    requests = [
        RunRequest(run_key=f"batch-{stable_id(*ids)}", partition_key=name)
        for name, ids in BatchStore(database).ready().items()
        if name in known
    ]
    return SensorResult(
        run_requests=requests, skip_reason=None if requests else "no corpus is waiting for a finished batch"
    )


@sensor(
    job_name=INDEX,
    minimum_interval_seconds=30,
    default_status=DefaultSensorStatus.STOPPED,
    description="Requests the index of every corpus when the schedule in its corpus.yaml says so",
)
def scheduled_corpora(
    context: SensorEvaluationContext, graphrag_corpora: ResourceParam[CorpusStore]
) -> SensorResult:
    """Request the corpora that are due. Several missed times result in one request."""
    return scheduled(context, graphrag_corpora, datetime.now().timestamp())


def scheduled(context: SensorEvaluationContext, corpora: CorpusStore, now: float) -> SensorResult:
    """Evaluate the sensor ``scheduled_corpora`` at a time given in seconds since the epoch.

    Its cursor is the time of the previous tick.
    """
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    requests, previous = [], now
    # The cursor of an earlier release is no number.
    with suppress(ValueError):
        previous = float(context.cursor or now)
    for name in sorted(known & set(corpora.names())):
        try:
            settings = corpora.settings(name).schedule
        except (GraphragError, OSError) as error:
            context.log.warning("the schedule of corpus %s cannot be read: %s", name, error)
            continue
        if settings.cron:
            since = datetime.fromtimestamp(previous, ZoneInfo(settings.timezone))
            due = next(CronSim(settings.cron, since)).timestamp()
            if due <= now:
                requests.append(RunRequest(run_key=f"scheduled-{name}-{due:.0f}", partition_key=name))
    return SensorResult(
        run_requests=requests,
        cursor=str(now),
        skip_reason=None if requests else "no corpus is due",
    )


@schedule(
    job_name=INDEX,
    cron_schedule="0 2 * * *",
    default_status=DefaultScheduleStatus.STOPPED,
    description="Every night: the index of every corpus whose files or settings have changed",
)
def nightly(
    context: ScheduleEvaluationContext,
    graphrag_corpora: ResourceParam[CorpusStore],
    graphrag_warehouse: ResourceParam[Warehouse],
) -> list[RunRequest]:
    """Request the index of corpora that have changed since publication or were never published."""
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    night = context.scheduled_execution_time.isoformat()
    requests = []
    for name in sorted(known & set(graphrag_corpora.names())):
        try:
            changed = changed_since_published(graphrag_corpora, graphrag_warehouse, name)
        except (GraphragError, OSError) as error:
            context.log.warning("corpus %s cannot be compared: %s", name, error)
            continue
        if changed:
            requests.append(RunRequest(run_key=f"nightly-{night}-{name}", partition_key=name))
    return requests


def sensors(index: AssetSelection) -> Sequence[SensorDefinition]:
    """Return all sensors.

    Args:
        index: the assets of the index.
    """
    outdated_assets = AutomationConditionSensorDefinition(
        "outdated_assets",
        target=index,
        description="Rebuilds index assets whose code, prompts or inputs changed, and all that reads them",
        # A run makes a consistent state of one corpus; a backfill would interleave the parts of several.
        emit_backfills=False,
    )
    return corpora_sensor, scheduled_corpora, finished_batches, outdated_assets


SCHEDULES: Sequence[ScheduleDefinition] = (nightly,)
