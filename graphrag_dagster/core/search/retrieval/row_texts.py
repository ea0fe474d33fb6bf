"""Texts of rows of a frame, put together when they are read."""

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import polars as pl


class RowTexts(Sequence[str]):
    """A text for each row, of two of its columns.

    Args:
        first: one column.
        second: the other.
        join: puts what a row has in both together.
    """

    def __init__(self, first: pl.Series, second: pl.Series, join: Callable[[str, str], str]) -> None:
        self._first = first
        self._second = second
        self._join = join

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[str]:
        return map(self._join, self._first.to_list(), self._second.to_list())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return list(RowTexts(self._first[place], self._second[place], self._join))
        return self._join(self._first[place], self._second[place])
