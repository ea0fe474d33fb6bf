"""Values that are computed when they are first read, once."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from threading import Lock
from typing import TypeVar, overload

T = TypeVar("T")


class AsRead(Sequence[T]):
    """The members of an iterator, taken from it once and only as far as they are read.

    Its length, a slice, and a member counted from the end read all. It equals any sequence with the same
    members. For one thread: two that read at a time would take members from each other.

    Args:
        members: gives them, in order; of a generator, nothing runs before the first is read.
    """

    __slots__ = ("_read", "_rest")

    def __init__(self, members: Iterable[T]) -> None:
        self._rest = iter(members)
        self._read: list[T] = []

    def _members(self, most: int | None = None) -> list[T]:
        """Return the members read, at least ``most`` if there are as many; None: all."""
        if most is None or most > len(self._read):
            self._read.extend(islice(self._rest, None if most is None else most - len(self._read)))
        return self._read

    def __len__(self) -> int:
        return len(self._members())

    def __bool__(self) -> bool:
        return bool(self._members(1))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return tuple(self._members()[index])
        return self._members(index + 1 if index >= 0 else None)[index]

    def __eq__(self, other: object) -> bool:
        return self._members() == list(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._members()))

    def __repr__(self) -> str:
        return repr(self._members())


def once(make: Callable[[], T]) -> Callable[[], T]:
    """Return a thread-safe function that calls ``make`` once and caches the result."""
    lock = Lock()
    results: list[T] = []

    def get() -> T:
        with lock:
            if not results:
                results.append(make())
        return results[0]

    return get
