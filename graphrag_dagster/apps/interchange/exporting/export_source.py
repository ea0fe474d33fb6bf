"""The published snapshot of a corpus, read in batches."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from graphrag_dagster.apps.interchange.exporting.export_rows import AT_ONCE, RowBatches, rebatch
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.duckdb_access import first_row
from graphrag_dagster.kernel.storage.published import Published, reading
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.kernel.tables import VECTOR, Column, Table
from graphrag_dagster.kernel.tables.declared_tables import all_tables

#: What does not fit is put on the disk.
_MEMORY = "1GB"


@dataclass(frozen=True, slots=True)
class ExportSource:
    """A snapshot that is read.

    Each declared table is there as the view ``schema_name``, without the column ``corpus``; one that the
    snapshot has not is a view without rows.
    """

    corpus: str
    connection: duckdb.DuckDBPyConnection
    snapshot: Published
    present: frozenset[Table]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the corpus that it was made with; none where nothing is told of them."""
        return dict(self.snapshot.manifest.get("settings") or {})

    def define(self, name: str, query: str) -> None:
        """Name a trusted query, for others to read."""
        self.connection.execute(f'create or replace temp view "{name}" as {query}')

    def keep(self, name: str, query: str) -> None:
        """Name the rows of a trusted query: they are found once."""
        self.connection.execute(f'create or replace temp table "{name}" as {query}')

    def value(self, query: str) -> Any:
        """Return the first value of the first row of a trusted query; None where there is none."""
        row = first_row(self.connection.execute(query))
        return row[0] if row else None

    def count(self, name: str) -> int:
        """Return how many rows a view has."""
        return int(self.value(f'select count(*) from "{name}"') or 0)

    def rows(self, query: str) -> RowBatches:
        """Return the rows of a trusted query that ends with their order; one query is read at a time."""

        def read() -> Iterator[pa.RecordBatch]:
            reader = self.connection.sql(query).to_arrow_reader(AT_ONCE)
            yield from rebatch(iter(reader), reader.schema)

        schema = self.connection.sql(f"{query} limit 0").to_arrow_table().schema
        return RowBatches(schema, read)


@contextmanager
def open_source(warehouse: Warehouse, corpus: str) -> Iterator[ExportSource]:
    """Open the published snapshot of a corpus.

    Raises:
        CorpusError: the name is not allowed.
        WarehouseError: nothing of it has been published.
        DamagedError: what was published cannot be read, then or in the block.
    """
    with ExitStack() as stack:
        spill = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="graphrag_dagster_")))
        reader, snapshot = stack.enter_context(reading(warehouse, corpus))
        if snapshot is None:
            raise WarehouseError(
                f"nothing of corpus {corpus!r} has been published; run 'graphrag-dagster index {corpus}'"
            )
        run = reader.connection.execute
        run(f"set memory_limit = '{_MEMORY}'")
        run("set temp_directory = ?", [str(spill)])
        present = frozenset(table for table in all_tables() if reader.has(table))
        for table in all_tables():
            run(_view(reader, table, present=table in present))
        yield ExportSource(corpus, reader.connection, snapshot, present)


def view_of(table: Table) -> str:
    """Return the name of the view of a table."""
    return f"{table.schema}_{table.name}"


def _view(reader: Reader, table: Table, *, present: bool) -> str:
    name = f'create temp view "{view_of(table)}" as select'
    if not present:
        return f"{name} {', '.join(_nothing(one) for one in table.columns)} where false"
    made = {row[0] for row in reader.connection.execute(f"describe {qualified(table)}").fetchall()}
    columns = ", ".join(f'"{one.name}"' if one.name in made else _nothing(one) for one in table.columns)
    corpus = reader.corpus.replace("'", "''")
    return f"{name} {columns} from {qualified(table)} where corpus = '{corpus}'"


def _nothing(column: Column) -> str:
    return f'null::{"FLOAT[1]" if column.type == VECTOR else column.type} as "{column.name}"'


@dataclass(frozen=True, slots=True)
class AdoptedTables:
    """What came from elsewhere and is the corpus's own.

    Attributes:
        graph: the corpus is of the kind graph.
        communities: its communities are those that came.
        reports: its reports are those that came, of these communities.
    """

    graph: bool
    communities: bool
    reports: bool


def adopted_tables(source: ExportSource) -> AdoptedTables:
    """Return what a snapshot has kept."""
    chosen = source.settings.get("imports") or {}
    graph = source.settings.get("kind") == "graph"
    communities = graph and chosen.get("communities") == "kept" and source.count("imports_communities") > 0
    reports = communities and chosen.get("reports") == "kept" and source.count("imports_reports") > 0
    return AdoptedTables(graph, communities, reports)
