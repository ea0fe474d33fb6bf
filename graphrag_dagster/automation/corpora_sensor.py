"""The sensor ``corpora``: indexes new and changed folders, and removes the partitions of deleted ones."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

from dagster import (
    DagsterRunStatus,
    DefaultSensorStatus,
    ResourceParam,
    RunRequest,
    RunsFilter,
    SensorEvaluationContext,
    SensorResult,
    sensor,
)

from graphrag_dagster.assets.step_assets import INDEX
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.pipeline.corpus_changes import (
    changed_since_published,
    cheap_fingerprint,
    content_fingerprint,
)
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_keys import CORPUS, PARTITION_TAG

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
                fingerprints[name] = cheap_fingerprint(self.store, name)
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
            content = content_fingerprint(self.store, name)
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
