"""Runs by the clock: for each corpus as its settings say, and every night for what has changed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim
from dagster import (
    DefaultScheduleStatus,
    DefaultSensorStatus,
    ResourceParam,
    RunRequest,
    ScheduleEvaluationContext,
    SensorEvaluationContext,
    SensorResult,
    schedule,
    sensor,
)

from graphrag_dagster.assets.jobs import INDEX
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.documents.files.discovery import SETTINGS_FILE
from graphrag_dagster.kernel.pipeline.orchestration.partitions import CORPUS
from graphrag_dagster.kernel.pipeline.updates.watching import changed_since_published
from graphrag_dagster.kernel.settings.schedule import ScheduleSettings
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse

#: A corpus without a schedule.
_NEVER = 0.0


@dataclass(slots=True)
class _Timetable:
    """When each corpus is due next, by the state of its settings file: ``[size, time of change, due]``."""

    store: CorpusStore
    now: float
    due: dict[str, list[float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, cursor: str | None, known: set[str]) -> Iterator[tuple[str, float]]:
        """Look at the corpora that have a partition; yield those due, with the time at which they were."""
        before: dict[str, list[float]] = _loaded(cursor)
        for name in sorted(known & set(self.store.names())):
            try:
                place = self.store.folder(name) / SETTINGS_FILE
                found = place.stat() if place.is_file() else None
                state = [float(found.st_size), float(found.st_mtime_ns)] if found else [0.0, 0.0]
                kept = before.get(name)
                if kept is not None and kept[:2] == state and not _NEVER < kept[2] <= self.now:
                    self.due[name] = kept
                    continue
                settings = self.store.settings(name).schedule if found else ScheduleSettings()
                self.due[name] = [*state, self._next(settings)]
                if kept is not None and kept[:2] == state:
                    yield name, kept[2]
            except (GraphragError, OSError) as error:
                self.problems.append(f"the schedule of corpus {name} cannot be read: {error}")

    def _next(self, settings: ScheduleSettings) -> float:
        if settings.cron is None:
            return _NEVER
        now = datetime.fromtimestamp(self.now, ZoneInfo(settings.timezone))
        return next(CronSim(settings.cron, now)).timestamp()


def _loaded(cursor: str | None) -> dict[str, list[float]]:
    try:
        return {str(name): [float(one) for one in kept] for name, kept in json.loads(cursor or "{}").items()}
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
    """Request what is due. What was due more than once while nobody looked is requested once."""
    return scheduled(context, graphrag_corpora, datetime.now().timestamp())


def scheduled(context: SensorEvaluationContext, corpora: CorpusStore, now: float) -> SensorResult:
    """What the sensor ``scheduled_corpora`` does at a time, in seconds since the epoch."""
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
    """Request the index of what has changed since it was last published, and of what never was."""
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
