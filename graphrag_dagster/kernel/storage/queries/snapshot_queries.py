"""Queries of search methods: over one snapshot, in a guarded process."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.catalogue.registry import all_tables
from graphrag_dagster.kernel.questions.context.queries import Found, Query, QueryError
from graphrag_dagster.kernel.storage.published import Published, reading
from graphrag_dagster.kernel.storage.queries.guarded_process import QueryLimits
from graphrag_dagster.kernel.storage.queries.sql_sandbox import Rows, file_of, queried_file
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.kernel.tables.declaration import Column, EngineNames

#: Somebody waits, and others ask at the same time.
LIMITS = QueryLimits(seconds=20.0, megabytes=500, raisable=False)
_LONGEST_CELL = 1000


class SnapshotQueries:
    """A :class:`~graphrag_dagster.kernel.questions.context.queries.Queries` over a corpus's snapshot.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.
        snapshot: that is asked; None for the warehouse's own file.
        limits: what a query may take.
    """

    def __init__(
        self, warehouse: Warehouse, corpus: str, snapshot: Published | None, limits: QueryLimits = LIMITS
    ) -> None:
        self._warehouse = warehouse
        self._corpus = corpus
        self._snapshot = snapshot
        self._limits = limits

    def columns(self, tables: Collection[str]) -> str:
        """Return what tables mean, and each of their columns, a line each."""
        return "\n\n".join(_told(table) for table in all_tables() if table.full_name in tables)

    def run(self, query: Query, most: int, tables: Collection[str] | None = None) -> Found:
        """Return the first rows of a query; see the port.

        Raises:
            QueryError: see the port.
            DamagedError: what it reads cannot be read.
        """
        with self._file() as file:
            try:
                given = queried_file(
                    file,
                    query.sql,
                    self._limits,
                    parameters=query.parameters or None,
                    tables=tables,
                    values=True,
                    # One more tells that there are more.
                    most_rows=most + 1,
                    most_characters=_LONGEST_CELL,
                )
                with given as found:
                    rows = [_row(found, row) for row in found.rows]
            except QuestionError as error:
                raise QueryError(str(error)) from None
        return Found(tuple(rows[:most]), len(rows) > most)

    @contextmanager
    def _file(self) -> Iterator[str]:
        with reading(self._warehouse, self._corpus) as (reader, current):
            if self._snapshot is None or (current and current.version == self._snapshot.version):
                yield file_of(reader)
                return
        file = Path(self._snapshot.file)
        if not file.is_file():
            raise QueryError(f"the opened index of {self._corpus!r} has been deleted: open the corpus again")
        yield str(file)


def _row(found: Rows, row: list[Any]) -> Mapping[str, Any]:
    cells = zip(found.columns, row, found.nested, strict=True)
    return {name: _cell(value, nested=nested) for name, value, nested in cells}


def _cell(value: Any, *, nested: bool) -> Any:
    if not nested or value is None:
        return value
    try:
        listed = json.loads(value)
    except ValueError:
        return value
    return ", ".join(map(str, listed)) if isinstance(listed, list) else value


def _told(table: Table) -> str:
    columns = (f"  {one.name} {one.type}: {one.meaning}{_values(one)}" for one in table.columns)
    return "\n".join([f"{table.full_name}: {table.meaning}", *columns])


def _values(column: Column) -> str:
    # Names of engines depend on what is installed: they would change the prompt.
    listed = () if isinstance(column.values, EngineNames) else column.values
    return f" ({', '.join(listed)})" if listed else ""
