"""A sequence whose members are made when they are read."""

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class MadeWhenRead(Sequence[T]):
    """Members by place, each made once, when it is first read.

    Args:
        length: number of members.
        make: makes the one of a place, 0…
    """

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length = length
        self._make = make
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        at = place + self._length if place < 0 else place
        if not 0 <= at < self._length:
            raise IndexError(place)
        if at not in self._made:
            self._made[at] = self._make(at)
        return self._made[at]
