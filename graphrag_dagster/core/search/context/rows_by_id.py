"""Rows of a frame by the ids in one of its columns, found without reading the others."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import polars as pl

Row = tuple[Any, ...]


class RowsById:
    """Some columns of rows, found by bisection; a frame that is in the order of the ids is not copied.

    Args:
        frame: the rows.
        key: the column with the ids.
        columns: what is read of a row.
    """

    def __init__(self, frame: pl.DataFrame, key: str, columns: Sequence[str]) -> None:
        if not frame[key].is_sorted():
            frame = frame.select(list(dict.fromkeys((key, *columns)))).sort(key, maintain_order=True)
        self._keys = frame[key]
        self._rows = frame.select(columns)

    def get(self, one: str) -> Row | None:
        """Return the row of an id, the last of several; None for an unknown one."""
        place = bisect_right(self._keys, one) - 1
        return self._rows.row(place) if place >= 0 and self._keys[place] == one else None

    def all(self, one: str) -> list[Row]:
        """Return all rows of an id, in their order."""
        first = bisect_left(self._keys, one)
        return self._rows[first : bisect_right(self._keys, one, lo=first)].rows()
