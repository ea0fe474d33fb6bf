"""Lineage of a corpus's rows, from the published snapshot or else the working file."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import declared_table
from graphrag_dagster.kernel.lineage.impact import Impact
from graphrag_dagster.kernel.lineage.impact import impact as impact_of
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep
from graphrag_dagster.kernel.lineage.row_lineage import WhyKind
from graphrag_dagster.kernel.lineage.row_lineage import why as why_of
from graphrag_dagster.kernel.storage import published
from graphrag_dagster.kernel.storage.duckdb_access import first_row, frame_of
from graphrag_dagster.kernel.storage.migrations import rows_shown
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.kernel.tables import Table

#: Replaces merged claims in indexes of older versions, which did not merge them.
_UNMERGED = (
    "(select *, 'as_is' as description_engine, null::varchar as description_problem, "
    "null::integer as description_repaired, "
    f"[text_unit_id] as text_unit_ids, 1 as instances from {qualified(tables.CLAIMS)})"
)


def why(warehouse: Warehouse, corpus: str, kind: WhyKind, asked: str, most: int | None = 5) -> LineageStep:
    """Return the lineage of a row down to words of documents; see
    :func:`graphrag_dagster.kernel.lineage.row_lineage.why`.

    Raises:
        QuestionError: no row matches, or several do.
        WarehouseError: the corpus has not been indexed.
    """
    with reading(warehouse, corpus) as rows:
        return why_of(rows, kind, asked, most)


def impact(warehouse: Warehouse, corpus: str, document: str) -> Impact:
    """Return the impact of a document; see :func:`graphrag_dagster.kernel.lineage.impact.impact`.

    Raises:
        QuestionError: no such document.
        WarehouseError: the corpus has not been indexed.
    """
    with reading(warehouse, corpus) as rows:
        return impact_of(rows, document)


@contextmanager
def reading(warehouse: Warehouse, corpus: str) -> Iterator["TableRows"]:
    """Open the tables for lineage.

    Raises:
        WarehouseError: the corpus has not been indexed, or its tables cannot be read.
    """
    with published.reading(warehouse, corpus) as (reader, _):
        # A snapshot of an older version only has the tables that searches read.
        if reader.has(tables.GLEANED_ENTITIES):
            yield TableRows(reader)
            return
    with warehouse.reading(corpus) as reader:
        if not reader.has(tables.DOCUMENTS):
            raise WarehouseError(
                f"corpus {corpus!r} has not been indexed; run 'graphrag-dagster index {corpus}'"
            )
        yield TableRows(reader)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of the tables of one corpus over an open connection; see :class:`core.lineage.rows.Rows`."""

    reader: Reader
    _registered: set[str] = field(default_factory=set, compare=False)

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
            return self._select(table, columns, condition, keys if column == "report_id" else None)
        finally:
            self.reader.connection.unregister("wanted")

    def count(self, table: str, /) -> int:
        """Return the number of rows."""
        source = self._source(declared_table(table))
        if source is None:
            return 0
        row = first_row(
            self.reader.connection.execute(
                f"select count(*) from {source} where corpus = ?",
                [self.reader.corpus],
            )
        )
        return int(row[0]) if row else 0

    def _select(
        self, table: str, columns: Sequence[str], condition: str, reports: Iterable[str] | None = None
    ) -> pl.DataFrame:
        declared = declared_table(table)
        source = self._source(declared, reports)
        if source is None:
            return self._empty(table, columns)
        names = ", ".join(f'"{name}"' for name in dict.fromkeys(columns or declared.column_names))
        keys = ", ".join(f'"{key}"' for key in declared.key)
        try:
            return frame_of(
                self.reader.connection,
                f"select {names} from {source} where corpus = ? {condition} order by {keys}",
                [self.reader.corpus],
            )
        except duckdb.BinderException as error:
            raise WarehouseError(
                f"{table} of corpus {self.reader.corpus!r} was made by another version; run "
                f"'graphrag-dagster index {self.reader.corpus}'"
            ) from error

    def _source(self, declared: Table, reports: Iterable[str] | None = None) -> str | None:
        """Return the SQL source of a table; for missing context rows, those of the given reports suffice."""
        if self.reader.has(declared):
            return qualified(declared)
        if declared is tables.MERGED_CLAIMS and self.reader.has(tables.CLAIMS):
            return _UNMERGED
        if declared is tables.REPORT_CONTEXT_ROWS and self.reader.has(tables.REPORT_CONTEXTS):
            return self._read_off(reports)
        return None

    def _read_off(self, reports: Iterable[str] | None) -> str:
        name = "read_off" if reports is None else "read_off_some"
        if reports is not None or name not in self._registered:
            rows = rows_shown(self.reader.connection, self.reader.corpus, reports)
            with_corpus = rows.with_columns(corpus=pl.lit(self.reader.corpus))
            self.reader.connection.register(name, with_corpus.to_arrow())
            self._registered.add(name)
        return name

    def _empty(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        empty = declared_table(table).empty()
        return empty.select(list(dict.fromkeys(columns))) if columns else empty
