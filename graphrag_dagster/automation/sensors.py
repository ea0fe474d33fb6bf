"""Sensors and schedules, all off by default."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.corpus_changes import changed_since_published
from graphrag_dagster.kernel.settings.indexing_settings import ScheduleSettings
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


#: Due time of a corpus without a schedule.
_NEVER = 0.0


@dataclass(slots=True)
class _Timetable:
    """When each corpus is due, with the state of its settings file: ``[size, modification time, due]``."""

    store: CorpusStore
    now: float
    due: dict[str, list[float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, cursor: str | None, known: set[str]) -> Iterator[tuple[str, float]]:
        """Check the corpora that have a partition; yield those due, with the time they were due."""
        before: dict[str, list[float]] = _loaded(cursor)
        for name in sorted(known & set(self.store.names())):
            try:
                path = self.store.folder(name) / SETTINGS_FILE
                status = path.stat() if path.is_file() else None
                state = [float(status.st_size), float(status.st_mtime_ns)] if status else [0.0, 0.0]
                entry = before.get(name)
                if entry is not None and entry[:2] == state and not _NEVER < entry[2] <= self.now:
                    self.due[name] = entry
                    continue
                settings = self.store.settings(name).schedule if status else ScheduleSettings()
                self.due[name] = [*state, self._next(settings)]
                if entry is not None and entry[:2] == state:
                    yield name, entry[2]
            except (GraphragError, OSError) as error:
                self.problems.append(f"the schedule of corpus {name} cannot be read: {error}")

    def _next(self, settings: ScheduleSettings) -> float:
        if settings.cron is None:
            return _NEVER
        now = datetime.fromtimestamp(self.now, ZoneInfo(settings.timezone))
        return next(CronSim(settings.cron, now)).timestamp()


def _loaded(cursor: str | None) -> dict[str, list[float]]:
    try:
        return {
            str(name): [float(number) for number in entry]
            for name, entry in json.loads(cursor or "{}").items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}


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
    """Evaluate the sensor ``scheduled_corpora`` at a time given in seconds since the epoch."""
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    timetable = _Timetable(corpora, now)
    requests = [
        RunRequest(run_key=f"scheduled-{name}-{due:.0f}", partition_key=name)
        for name, due in timetable.take(context.cursor, known)
    ]
    for problem in timetable.problems:
        context.log.warning(problem)
    return SensorResult(
        run_requests=requests,
        cursor=json.dumps(timetable.due, separators=(",", ":")),
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
