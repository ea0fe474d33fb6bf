"""Calls to models that wait for their answers, for whoever shows what a stage waits for."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

#: What calls of a task do, where the name of the task does not say it.
_WORDS = {
    "extract_graph": "entities and relationships of a text unit",
    "extract_claims": "claims of a text unit",
    "type_entities": "what kinds of things names are",
    "judge_names": "whether names are one entity",
    "summarize_descriptions": "merging descriptions",
    "community_report": "a community report",
    "rate_reports": "rating reports",
    "global_map": "reading the context",
    "global_reduce": "the answer",
    "local_search": "the answer",
    "route": "choosing the way of answering",
    "judge_answers": "judging answers",
    "probe": "a small question whether it is of use",
    "embed": "vectors",
}


@dataclass(eq=False, slots=True)
class Call:
    """A call: whom it asks, for which task, since which monotonic second, and whether it is sent."""

    whom: str
    task: str
    begun: float = field(default_factory=time.monotonic)
    sent: bool = False

    @property
    def words(self) -> str:
        """What it asks for."""
        return _WORDS.get(self.task, self.task.replace("_", " "))


@dataclass(frozen=True, slots=True)
class Calls:
    """How many calls have been answered since the process began, and those that have not."""

    done: int
    in_flight: int
    waiting: int
    oldest: Call | None


_lock = threading.Lock()
_under_way: dict[int, Call] = {}
_done = 0


@contextmanager
def under_way(whom: str, task: str) -> Iterator[Call]:
    """Count a call as under way inside the block, and as done where that ends well."""
    global _done
    call = Call(whom, task)
    with _lock:
        _under_way[id(call)] = call
    try:
        yield call
        with _lock:
            _done += 1
    finally:
        with _lock:
            del _under_way[id(call)]


def calls_now() -> Calls:
    """Return what is under way in this process; the oldest is that which was sent for first."""
    with _lock:
        every = list(_under_way.values())
        done = _done
    sent = [call for call in every if call.sent]
    oldest = min(sent, key=lambda call: call.begun, default=None)
    return Calls(done, len(sent), len(every) - len(sent), oldest)
