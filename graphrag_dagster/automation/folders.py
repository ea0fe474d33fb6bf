"""The sensor that watches the corpus folders."""

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

from graphrag_dagster.assets.jobs import INDEX
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.pipeline.orchestration.hooks import PARTITION_TAG
from graphrag_dagster.kernel.pipeline.orchestration.partitions import CORPUS
from graphrag_dagster.kernel.pipeline.updates.watching import (
    changed_since_published,
    cheap_fingerprint,
    content_fingerprint,
)
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse

#: Ticks for which a folder has to be gone before its partition goes too.
GONE_TICKS = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """A corpus folder as it was.

    Attributes:
        cheap: its cheap fingerprint at the last tick.
        settled: the cheap fingerprint that was last looked into; empty where none was.
        content: the fingerprint of the content then.
        requests: how many runs were requested.
        gone: for how many ticks the folder has not been there.
    """

    cheap: str = ""
    settled: str = ""
    content: str = ""
    requests: int = 0
    gone: int = 0

    @property
    def unsettled(self) -> bool:
        """Whether the folder differs from what was last looked into."""
        return self.cheap != self.settled

    def at(self, cheap: str) -> "Seen":
        """What is known at the next tick, at which the folder is there."""
        return replace(self, cheap=cheap, gone=0)

    def looked_into(self, content: str, *, requested: bool) -> "Seen":
        """What is known once the content was compared."""
        return replace(self, settled=self.cheap, content=content, requests=self.requests + requested)

    def missed(self) -> "Seen":
        """What is known at the next tick, at which the folder is not there."""
        return replace(self, gone=self.gone + 1)


@dataclass(slots=True)
class Memory:
    """All folders, as the cursor of the sensor keeps them."""

    seen: dict[str, Seen] = field(default_factory=dict)

    @classmethod
    def read(cls, cursor: str | None) -> "Memory":
        """Read a cursor; one that is of no use is as good as none."""
        try:
            return cls({name: Seen(*kept) for name, kept in json.loads(cursor or "{}").items()})
        except (ValueError, TypeError, AttributeError):
            return cls()

    def written(self) -> str:
        """The cursor."""
        return json.dumps({name: astuple(seen) for name, seen in self.seen.items()}, separators=(",", ":"))

    def observe(self, found: Mapping[str, str]) -> list[str]:
        """Take in the cheap fingerprints of a tick.

        Returns:
            the corpora that differ from what was last looked into, and were the same at the tick before:
            nobody is copying into them.
        """
        settled = []
        for name, cheap in found.items():
            before = self.seen.get(name, Seen())
            self.seen[name] = now = before.at(cheap)
            if now.unsettled and before.cheap == cheap:
                settled.append(name)
        return settled

    def missing(self, names: Iterable[str]) -> list[str]:
        """Take in which corpora have no folder at this tick; return those gone for long enough."""
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
    """One look at all folders: what is known, and what is to be done."""

    context: SensorEvaluationContext
    store: CorpusStore
    warehouse: Warehouse
    memory: Memory
    known: set[str]
    new: list[str] = field(default_factory=list)
    requests: list[RunRequest] = field(default_factory=list)

    def fingerprints(self) -> dict[str, str]:
        """Of every folder that can be listed; a folder that cannot be is said and left as it is."""
        found = {}
        for name in self.store.names():
            try:
                found[name] = cheap_fingerprint(self.store.folders(name))
            except (GraphragError, OSError) as error:
                self.context.log.warning("corpus %s cannot be looked at: %s", name, error)
        return found

    def look_into(self, name: str) -> None:
        """Compare the content of a folder that has settled, and request its index where it has changed."""
        if self._under_way(name):
            # The run may have read the folder before or after the change: look again when it is over.
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
        wanted = RunsFilter(tags={PARTITION_TAG: name}, statuses=_UNDER_WAY)
        return bool(self.context.instance.get_runs(wanted, limit=1))

    def gone(self, present: Sequence[str]) -> list[str]:
        """The corpora whose partition is to go, because their folder has not been there for long enough."""
        if not self.store.path.is_dir():
            self.context.log.warning("%s is not there: no corpus is treated as removed", self.store.path)
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
    """Compare the folders below the corpora root with what they were at the tick before.

    A change counts once the folder was the same at two ticks, so that one being copied waits until it is
    whole. Nothing that was made is ever erased here.
    """
    known, corpora = set(context.instance.get_dynamic_partitions(str(CORPUS.name))), graphrag_corpora
    tick = _Tick(context, corpora, graphrag_warehouse, Memory.read(context.cursor), known)
    found = tick.fingerprints()
    for name in tick.memory.observe(found):
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
