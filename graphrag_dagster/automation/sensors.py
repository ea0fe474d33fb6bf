"""Sensors and schedules, all off by default."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim
from dagster import (
    AssetSelection,
    AutomationConditionSensorDefinition,
    DagsterRunStatus,
    DefaultScheduleStatus,
    DefaultSensorStatus,
    ResourceParam,
    RunRequest,
    RunsFilter,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    schedule,
    sensor,
)

from graphrag_dagster.assets.step_assets import INDEX
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.corpus_changes import (
    changed_since_published,
    cheap_fingerprint,
    content_fingerprint,
)
from graphrag_dagster.kernel.settings.indexing_settings import ScheduleSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_keys import CORPUS, PARTITION_TAG


@sensor(
    job_name=INDEX,
    minimum_interval_seconds=60,
    default_status=DefaultSensorStatus.STOPPED,
    description="Collects finished batches of the model provider and lets the index of their corpora go on",
)
def finished_batches(
    context: SensorEvaluationContext, graphrag_memory: ResourceParam[LLMCache]
) -> SensorResult:
    """Request a run for every corpus that is no longer waiting for a batch."""
    # Imported here because runs do not need it.
    from graphrag_dagster.kernel.models.batch_store import finished_batches
    from graphrag_dagster.kernel.storage.corpus_store import models_of

    corpora, problems = finished_batches(graphrag_memory.database(), models_of)
    for problem in problems:
        context.log.warning(problem)
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    requests = [
        RunRequest(run_key=f"batch-{stable_id(*ids)}", partition_key=name)
        for name, ids in corpora.items()
        if name in known
    ]
    return SensorResult(
        run_requests=requests, skip_reason=None if requests else "no corpus is waiting for a finished batch"
    )


#: Ticks for which a folder must be missing before its partition is removed.
GONE_TICKS = 3
#: Key of the cursor that is no name of a corpus.
_ROOT = "/"


@dataclass(frozen=True, slots=True)
class Seen:
    """State of a corpus folder at the last tick.

    Attributes:
        cheap: its cheap fingerprint at the last tick.
        settled: the cheap fingerprint at the last content comparison; blank if there was none.
        content: the content fingerprint at that comparison.
        requests: number of requested runs.
        gone: number of ticks for which the folder has been missing.
    """

    cheap: str = ""
    settled: str = ""
    content: str = ""
    requests: int = 0
    gone: int = 0

    @property
    def unsettled(self) -> bool:
        """Whether the folder differs from the last comparison."""
        return self.cheap != self.settled

    def at(self, cheap: str) -> "Seen":
        """Return the state after a tick at which the folder exists."""
        return replace(self, cheap=cheap, gone=0)

    def looked_into(self, content: str, *, requested: bool) -> "Seen":
        """Return the state after a content comparison."""
        return replace(self, settled=self.cheap, content=content, requests=self.requests + requested)

    def missed(self) -> "Seen":
        """Return the state after a tick at which the folder is missing."""
        return replace(self, gone=self.gone + 1)


@dataclass(slots=True)
class FolderCursor:
    """The states of all folders, stored as the sensor's cursor.

    Attributes:
        seen: the state of each folder, by the name of its corpus.
        root: the folder of corpora, as it was when it last held one: device and inode.
    """

    seen: dict[str, Seen] = field(default_factory=dict)
    root: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, cursor: str | None) -> "FolderCursor":
        """Read a cursor; an invalid one counts as empty."""
        try:
            states = json.loads(cursor or "{}")
            root = states.pop(_ROOT, [])
            return cls({name: Seen(*state) for name, state in states.items()}, root)
        except (ValueError, TypeError, AttributeError):
            return cls()

    def written(self) -> str:
        """Return the cursor."""
        states = {name: astuple(seen) for name, seen in self.seen.items()}
        return json.dumps({_ROOT: self.root, **states}, separators=(",", ":"))

    def observe(self, found: Mapping[str, str]) -> list[str]:
        """Record the cheap fingerprints of a tick.

        Returns:
            the corpora that differ from the last comparison but not from the previous tick, so that nobody is
                still copying into them.
        """
        settled = []
        for name, cheap in found.items():
            before = self.seen.get(name, Seen())
            self.seen[name] = now = before.at(cheap)
            if now.unsettled and before.cheap == cheap:
                settled.append(name)
        return settled

    def missing(self, names: Iterable[str]) -> list[str]:
        """Record which corpora have no folder at this tick; return those missing for long enough."""
        gone = []
        for name in names:
            self.seen[name] = now = self.seen.get(name, Seen()).missed()
            if now.gone >= GONE_TICKS:
                gone.append(name)
        return gone


_UNDER_WAY = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


@dataclass(slots=True)
class _Tick:
    """One tick over all folders: the known state and the resulting requests."""

    context: SensorEvaluationContext
    store: CorpusStore
    warehouse: Warehouse
    memory: FolderCursor
    known: set[str]
    new: list[str] = field(default_factory=list)
    requests: list[RunRequest] = field(default_factory=list)

    def fingerprints(self) -> dict[str, str]:
        """Return the cheap fingerprint of every folder; a folder that cannot be listed is logged and
        skipped.
        """
        fingerprints = {}
        for name in self.store.names():
            try:
                fingerprints[name] = cheap_fingerprint(self.store.folders(name))
            except (GraphragError, OSError) as error:
                self.context.log.warning("corpus %s cannot be looked at: %s", name, error)
        return fingerprints

    def look_into(self, name: str) -> None:
        """Compare the content of a settled folder, and request its index if it has changed."""
        if self._under_way(name):
            # The run may have read the folder before or after the change: compare again when it has ended.
            return
        seen = self.memory.seen[name]
        try:
            content = content_fingerprint(self.store.folders(name))
            changed = self._changed(name, content)
        except (GraphragError, OSError) as error:
            self.context.log.warning("corpus %s cannot be read: %s", name, error)
            return
        self.memory.seen[name] = after = seen.looked_into(content, requested=changed)
        if name not in self.known:
            self.new.append(name)
        if changed:
            key = f"corpus-{name}-{seen.cheap}-{after.requests}"
            self.requests.append(RunRequest(run_key=key, partition_key=name))

    def _changed(self, name: str, content: str) -> bool:
        before = self.memory.seen[name].content
        if name not in self.known:
            return True
        if before:
            return before != content
        return changed_since_published(self.store, self.warehouse, name)

    def _under_way(self, name: str) -> bool:
        if name not in self.known:
            return False
        active_runs = RunsFilter(tags={PARTITION_TAG: name}, statuses=_UNDER_WAY)
        return bool(self.context.instance.get_runs(active_runs, limit=1))

    def gone(self, present: Sequence[str]) -> list[str]:
        """Return the corpora whose partition is to be removed, because their folder has been missing for long
        enough.
        """
        if not self._is_mounted(present):
            self.context.log.warning("no corpus is in %s: none is treated as removed", self.store.path)
            return []
        gone = self.memory.missing(sorted(self.known - set(present)))
        for name in gone:
            del self.memory.seen[name]
            self.context.log.warning(
                "the folder of corpus %s is gone: its partition is removed. What was made of it is kept; "
                "'graphrag-dagster delete %s' erases it, and putting the folder back brings the corpus back",
                name,
                name,
            )
        for name in self.memory.seen.keys() - self.known - set(present):
            del self.memory.seen[name]
        return gone

    def _is_mounted(self, present: Sequence[str]) -> bool:
        """Whether the folder of corpora is there: an empty one may be where a disk was mounted."""
        try:
            status = self.store.path.stat()
        except OSError:
            return False
        root = [status.st_dev, status.st_ino]
        if present:
            self.memory.root = root
        return bool(present) or (self.memory.root == root and len(self.known) == 1)

    def reason(self) -> str:
        waiting = sum(seen.unsettled and not seen.gone for seen in self.memory.seen.values())
        gone = sum(bool(seen.gone) for seen in self.memory.seen.values())
        if waiting:
            return f"{waiting} changed folders are looked at again at the next tick"
        if gone:
            return f"{gone} folders are gone; their partitions go after {GONE_TICKS} ticks"
        return "no corpus folder has changed"


@sensor(
    name="corpora",
    job_name=INDEX,
    minimum_interval_seconds=30,
    default_status=DefaultSensorStatus.STOPPED,
    description="Indexes new and changed corpus folders, and removes the partitions of deleted folders",
)
def corpora_sensor(
    context: SensorEvaluationContext,
    graphrag_corpora: ResourceParam[CorpusStore],
    graphrag_warehouse: ResourceParam[Warehouse],
) -> SensorResult:
    """Compare the folders below the corpora root with the previous tick.

    A change counts once the folder was the same at two ticks, so that copying can finish. Nothing that was
    made is deleted here.
    """
    known, corpora = set(context.instance.get_dynamic_partitions(str(CORPUS.name))), graphrag_corpora
    tick = _Tick(context, corpora, graphrag_warehouse, FolderCursor.read(context.cursor), known)
    fingerprints = tick.fingerprints()
    for name in tick.memory.observe(fingerprints):
        tick.look_into(name)
    gone = tick.gone(corpora.names())
    partitions = [CORPUS.build_add_request(tick.new)] if tick.new else []
    removals = [CORPUS.build_delete_request(gone)] if gone else []
    return SensorResult(
        run_requests=tick.requests,
        dynamic_partitions_requests=[*partitions, *removals],
        cursor=tick.memory.written(),
        skip_reason=None if tick.requests else tick.reason(),
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
        description="Makes index assets again whose code, prompts or inputs changed, and all that reads them",
        # A run makes a consistent state of one corpus; a backfill would interleave the parts of several.
        emit_backfills=False,
    )
    return corpora_sensor, scheduled_corpora, finished_batches, outdated_assets


SCHEDULES: Sequence[ScheduleDefinition] = (nightly,)
