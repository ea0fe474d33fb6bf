"""Progress of long stages, and the model calls they wait for."""

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

_log = logging.getLogger("graphrag_dagster")


class Listener:
    """Receives progress, in the thread that runs the stage; what a subclass does not override is ignored."""

    def start(self, stage: str, total: int | None) -> None:
        """A stage has started; ``total`` is its number of steps, None if unknown."""

    def advance(self, stage: str, steps: int) -> None:
        """``steps`` more steps of the stage are done."""

    def finish(self, stage: str) -> None:
        """The stage has ended, successfully or not."""

    def say(self, line: str) -> None:
        """A message for the user; called from any thread."""


_listeners: list[Listener] = []
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the progress of everything in the block to ``listener``."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def say(line: str) -> None:
    """Send a message to all listeners, or to the package's log if there are none."""
    listeners = tuple(_listeners)
    for listener in listeners:
        listener.say(line)
    if not listeners:
        _log.warning("%s", line)


@contextmanager
def without_progress() -> Iterator[None]:
    """Hide the stages that start in the block, because they are steps of a visible stage."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


class ProgressStage:
    """A running stage, created by :func:`stage`."""

    def __init__(self, name: str, listeners: Sequence[Listener]) -> None:
        self.name = name
        self._listeners = listeners

    def advance(self, steps: int = 1) -> None:
        """Report ``steps`` finished steps."""
        for listener in self._listeners:
            listener.advance(self.name, steps)


@contextmanager
def stage(name: str, total: int | None = None) -> Iterator[ProgressStage]:
    """Report a stage of ``total`` steps; yields the :class:`ProgressStage` to advance."""
    listeners = () if _quiet.get() else tuple(_listeners)
    for listener in listeners:
        listener.start(name, total)
    try:
        yield ProgressStage(name, listeners)
    finally:
        for listener in listeners:
            listener.finish(name)


def track(items: Iterable[T], name: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, each reported as one step of the stage ``name``."""
    with stage(name, total) as running:
        for item in items:
            yield item
            running.advance()


@dataclass(eq=False, slots=True)
class PendingCall:
    """A call: its model, its task, its start in monotonic seconds, and whether it has been sent."""

    whom: str
    task: str
    begun: float = field(default_factory=time.monotonic)
    sent: bool = False


@dataclass(frozen=True, slots=True)
class Calls:
    """Number of calls answered since the process started, and the calls that are not answered yet."""

    done: int
    in_flight: int
    waiting: int
    oldest: PendingCall | None


_lock = threading.Lock()
_under_way: dict[int, PendingCall] = {}
_done = 0


@contextmanager
def pending_call(whom: str, task: str) -> Iterator[PendingCall]:
    """Count a call as pending inside the block, and as done if the block succeeds."""
    global _done
    call = PendingCall(whom, task)
    with _lock:
        _under_way[id(call)] = call
    try:
        yield call
        with _lock:
            _done += 1
    finally:
        with _lock:
            del _under_way[id(call)]


def current_calls() -> Calls:
    """Return the calls of this process; ``oldest`` is the earliest of those already sent."""
    with _lock:
        pending = list(_under_way.values())
        done = _done
    sent = [call for call in pending if call.sent]
    oldest = min(sent, key=lambda call: call.begun, default=None)
    return Calls(done, len(sent), len(pending) - len(sent), oldest)
