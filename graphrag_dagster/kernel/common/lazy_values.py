"""Values that are computed once, on first access."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import TypeVar, overload

T = TypeVar("T")


class Deferred(Sequence[T]):
    """A sequence that is built completely on first access. It equals any sequence with the same members.

    Args:
        make: builds the members; called more than once only if threads race on the first access.
        given: its arguments.
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
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._members()[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._members())

    def __eq__(self, other: object) -> bool:
        return self._members() == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._members())

    def __repr__(self) -> str:
        return repr(self._members())


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Return a thread-safe function that calls ``make`` once and caches the result."""
    lock = Lock()
    results: list[T] = []

    def get() -> T:
        if not results:
            with lock:
                if not results:
                    results.append(make())
        return results[0]

    return get
