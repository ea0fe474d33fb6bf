"""Lineage of a corpus's rows, from the published snapshot or else the working file."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.lineage.impact import Impact
from graphrag_dagster.kernel.lineage.impact import impact as impact_of
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep
from graphrag_dagster.kernel.lineage.row_lineage import WhyKind
from graphrag_dagster.kernel.lineage.row_lineage import why as why_of
from graphrag_dagster.kernel.storage import published
from graphrag_dagster.kernel.storage.duckdb_access import frame_of
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.kernel.tables.declared_tables import declared_table


def why(warehouse: Warehouse, corpus: str, kind: WhyKind, asked: str, most: int | None = 5) -> LineageStep:
    """Return the lineage of a row down to words of documents; see
    :func:`graphrag_dagster.kernel.lineage.row_lineage.why`.

    Raises:
        QuestionError: no row matches, or several do.
        WarehouseError: the corpus has not been indexed.
    """
    with open_rows(warehouse, corpus) as rows:
        return why_of(rows, kind, asked, most)


def impact(warehouse: Warehouse, corpus: str, document: str) -> Impact:
    """Return the impact of a document; see :func:`graphrag_dagster.kernel.lineage.impact.impact`.

    Raises:
        QuestionError: no such document.
        WarehouseError: the corpus has not been indexed.
    """
    with open_rows(warehouse, corpus) as rows:
        return impact_of(rows, document)


@contextmanager
def open_rows(warehouse: Warehouse, corpus: str) -> Iterator["TableRows"]:
    """Open the tables for lineage.

    Raises:
        WarehouseError: the corpus has not been indexed, or its tables cannot be read.
    """
    with published.reading(warehouse, corpus) as (reader, _):
        if not reader.has(tables.DOCUMENTS):
            raise WarehouseError(
                f"corpus {corpus!r} has not been indexed; run 'graphrag-dagster index {corpus}'"
            )
        yield TableRows(reader)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of the tables of one corpus over an open connection; see :class:`core.lineage.rows.Rows`."""

    reader: Reader

    def all(self, table: str, columns: Sequence[str], /) -> pl.DataFrame:
        """Return columns of all rows."""
        return self._select(table, columns, "")

    def of(
        self, table: str, column: str, values: Iterable[str], columns: Sequence[str] = (), /
    ) -> pl.DataFrame:
        """Return the rows whose column has one of the values."""
        keys = pl.Series("value", values, dtype=pl.String)
        if keys.is_empty():
            return self._empty(table, columns)
        self.reader.connection.register("wanted", keys.to_frame().to_arrow())
        try:
            condition = f'and "{column}" in (select value from wanted)'
            return self._select(table, columns, condition)
        finally:
            self.reader.connection.unregister("wanted")

    def count(self, table: str, /) -> int:
        """Return the number of rows."""
        declared = declared_table(table)
        return self.reader.counts([declared])[declared] if self.reader.has(declared) else 0

    def _select(self, table: str, columns: Sequence[str], condition: str) -> pl.DataFrame:
        declared = declared_table(table)
        if not self.reader.has(declared):
            return self._empty(table, columns)
        names = ", ".join(f'"{name}"' for name in dict.fromkeys(columns or declared.column_names))
        keys = ", ".join(f'"{key}"' for key in declared.key)
        try:
            return frame_of(
                self.reader.connection,
                f"select {names} from {qualified(declared)} where corpus = ? {condition} order by {keys}",
                [self.reader.corpus],
            )
        except duckdb.BinderException as error:
            raise WarehouseError(
                f"{table} of corpus {self.reader.corpus!r} lacks a column; run "
                f"'graphrag-dagster index {self.reader.corpus}'"
            ) from error

    def _empty(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        empty = declared_table(table).empty()
        return empty.select(list(dict.fromkeys(columns))) if columns else empty
