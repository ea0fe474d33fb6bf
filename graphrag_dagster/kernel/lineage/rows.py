"""What lineage reads: rows of declared tables, a few at a time."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import polars as pl


class Rows(Protocol):
    """Rows of the tables of one corpus; a table is named as ``schema.table``.

    A table that was never made has no rows.
    """

    def all(self, table: str, columns: Sequence[str], /) -> pl.DataFrame:
        """Return columns of all rows, in the order of the table's key."""

    def of(
        self, table: str, column: str, values: Iterable[str], columns: Sequence[str] = (), /
    ) -> pl.DataFrame:
        """Return the rows whose column has one of the values, in the order of the table's key.

        Columns: the given, else all.
        """

    def count(self, table: str, /) -> int:
        """Return the number of rows."""
