"""Values that are computed on first access, and then once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import TypeVar, overload

T = TypeVar("T")


class Deferred(Sequence[T]):
    """A sequence that is made whole when it is first looked into. It equals any of the same members.

    Args:
        make: makes the members; called again only where two threads look into it at the same moment.
        given: what it is called with.
    """

    __slots__ = ("_given", "_made", "_make")

    def __init__(self, make: Callable[..., Iterable[T]], *given: object) -> None:
        self._make = make
        self._given = given
        self._made: tuple[T, ...] | None = None

    def _members(self) -> tuple[T, ...]:
        if self._made is None:
            self._made = tuple(self._make(*self._given))
        return self._made

    def __len__(self) -> int:
        return len(self._members())

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        return self._members()[place]

    def __iter__(self) -> Iterator[T]:
        return iter(self._members())

    def __eq__(self, other: object) -> bool:
        return self._members() == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._members())

    def __repr__(self) -> str:
        return repr(self._members())


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that makes something when it is first called, in whichever thread, and keeps it."""
    lock = Lock()
    made: list[T] = []

    def get() -> T:
        if not made:
            with lock:
                if not made:
                    made.append(make())
        return made[0]

    return get
