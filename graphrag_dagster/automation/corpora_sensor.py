"""The sensor ``corpora``: indexes new and changed folders, and removes the partitions of deleted ones."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field

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


@dataclass(slots=True)
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


_UNDER_WAY = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


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
    known = set(context.instance.get_dynamic_partitions(str(CORPUS.name)))
    cursor, present = FolderCursor.read(context.cursor), graphrag_corpora.names()
    new, requests = list[str](), list[RunRequest]()
    for name in present:
        seen = cursor.seen.setdefault(name, Seen())
        try:
            changed = _has_changed(name, seen, context, graphrag_corpora, graphrag_warehouse, known)
        except (GraphragError, OSError) as error:
            context.log.warning("corpus %s cannot be read: %s", name, error)
            continue
        if changed is not None and name not in known:
            new.append(name)
        if changed:
            seen.requests += 1
            key = f"corpus-{name}-{seen.cheap}-{seen.requests}"
            requests.append(RunRequest(run_key=key, partition_key=name))
    gone = _gone(context, graphrag_corpora, cursor, known, present)
    partitions = [CORPUS.build_add_request(new)] if new else []
    removals = [CORPUS.build_delete_request(gone)] if gone else []
    return SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[*partitions, *removals],
        cursor=cursor.written(),
        skip_reason=None if requests else _reason(cursor),
    )


def _has_changed(
    name: str,
    seen: Seen,
    context: SensorEvaluationContext,
    corpora: CorpusStore,
    warehouse: Warehouse,
    known: set[str],
) -> bool | None:
    """Return whether a folder is to be indexed; None if it was not looked into, because it is as it was, is
    still being copied, or a run of it is under way.
    """
    cheap = cheap_fingerprint(corpora, name)
    is_still, seen.cheap, seen.gone = seen.cheap == cheap, cheap, 0
    # A run may have read the folder before or after the change: compare again when it has ended.
    if not is_still or cheap == seen.settled or (name in known and _is_under_way(context, name)):
        return None
    content = content_fingerprint(corpora, name)
    if name not in known:
        changed = True
    elif seen.content:
        changed = seen.content != content
    else:
        changed = changed_since_published(corpora, warehouse, name)
    seen.settled, seen.content = cheap, content
    return changed


def _is_under_way(context: SensorEvaluationContext, name: str) -> bool:
    active_runs = RunsFilter(tags={PARTITION_TAG: name}, statuses=_UNDER_WAY)
    return bool(context.instance.get_runs(active_runs, limit=1))


def _gone(
    context: SensorEvaluationContext,
    corpora: CorpusStore,
    cursor: FolderCursor,
    known: set[str],
    present: Sequence[str],
) -> list[str]:
    """Return the corpora whose partition is to be removed, because their folder has been missing for long
    enough.
    """
    if not _is_mounted(corpora, cursor, known, present):
        context.log.warning("no corpus is in %s: none is treated as removed", corpora.path)
        return []
    gone = []
    for name in sorted(known - set(present)):
        seen = cursor.seen.setdefault(name, Seen())
        seen.gone += 1
        if seen.gone >= GONE_TICKS:
            gone.append(name)
            context.log.warning(
                "the folder of corpus %s is gone: its partition is removed. What was made of it is kept; "
                "'graphrag-dagster delete %s' erases it, and putting the folder back brings the corpus back",
                name,
                name,
            )
    for name in cursor.seen.keys() - (known - set(gone)) - set(present):
        del cursor.seen[name]
    return gone


def _is_mounted(corpora: CorpusStore, cursor: FolderCursor, known: set[str], present: Sequence[str]) -> bool:
    """Whether the folder of corpora is there: an empty one may be where a disk was mounted."""
    try:
        status = corpora.path.stat()
    except OSError:
        return False
    root = [status.st_dev, status.st_ino]
    if present:
        cursor.root = root
    return bool(present) or (cursor.root == root and len(known) == 1)


def _reason(cursor: FolderCursor) -> str:
    waiting = sum(seen.cheap != seen.settled and not seen.gone for seen in cursor.seen.values())
    gone = sum(bool(seen.gone) for seen in cursor.seen.values())
    if waiting:
        return f"{waiting} changed folders are looked at again at the next tick"
    if gone:
        return f"{gone} folders are gone; their partitions go after {GONE_TICKS} ticks"
    return "no corpus folder has changed"
