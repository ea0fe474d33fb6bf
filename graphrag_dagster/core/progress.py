"""How long stages tell whoever listens how far they are."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Listener(Protocol):
    """What hears of progress; called from the thread that runs the stage."""

    def start(self, stage: str, total: int | None) -> None:
        """A stage begins; ``total`` is its number of steps, or None where unknown."""

    def advance(self, stage: str, steps: int) -> None:
        """``steps`` more steps of the stage are done."""

    def finish(self, stage: str) -> None:
        """The stage has ended, well or not."""


_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the progress of everything run inside the block to ``listener``."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class Stage:
    """One running stage; made by :func:`stage`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def advance(self, steps: int = 1) -> None:
        """Report ``steps`` finished steps."""
        for listener in _listeners:
            listener.advance(self.name, steps)


@contextmanager
def stage(name: str, total: int | None = None) -> Iterator[Stage]:
    """Announce a stage of ``total`` steps; yields the :class:`Stage` to advance."""
    for listener in _listeners:
        listener.start(name, total)
    try:
        yield Stage(name)
    finally:
        for listener in _listeners:
            listener.finish(name)


def track(items: Iterable[T], name: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and report each as one step of the stage ``name``."""
    with stage(name, total) as running:
        for item in items:
            yield item
            running.advance()
