"""How long stages tell whoever listens how far they are."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")

_log = logging.getLogger("graphrag_dagster")


class Listener(Protocol):
    """What hears of progress; called from the thread that runs the stage."""

    def start(self, stage: str, total: int | None) -> None:
        """A stage begins; ``total`` is its number of steps, or None where unknown."""

    def advance(self, stage: str, steps: int) -> None:
        """``steps`` more steps of the stage are done."""

    def finish(self, stage: str) -> None:
        """The stage has ended, well or not."""

    def say(self, line: str) -> None:
        """Something happened that whoever waits should know now; called from any thread."""


_listeners: list[Listener] = []
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the progress of everything run inside the block to ``listener``."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def say(line: str) -> None:
    """Tell the listeners something at once; where nobody listens it goes to the log of the package."""
    listeners = tuple(_listeners)
    for listener in listeners:
        listener.say(line)
    if not listeners:
        _log.warning("%s", line)


@contextmanager
def quietly() -> Iterator[None]:
    """Tell nobody of the stages that begin inside the block: they are steps of a stage that is told of."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


class Stage:
    """One running stage; made by :func:`stage`."""

    def __init__(self, name: str, listeners: Sequence[Listener]) -> None:
        self.name = name
        self._listeners = listeners

    def advance(self, steps: int = 1) -> None:
        """Report ``steps`` finished steps."""
        for listener in self._listeners:
            listener.advance(self.name, steps)


@contextmanager
def stage(name: str, total: int | None = None) -> Iterator[Stage]:
    """Announce a stage of ``total`` steps; yields the :class:`Stage` to advance."""
    listeners = () if _quiet.get() else tuple(_listeners)
    for listener in listeners:
        listener.start(name, total)
    try:
        yield Stage(name, listeners)
    finally:
        for listener in listeners:
            listener.finish(name)


def track(items: Iterable[T], name: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and report each as one step of the stage ``name``."""
    with stage(name, total) as running:
        for item in items:
            yield item
            running.advance()
