"""Contents of a snapshot: tables of the warehouse and of the previous snapshot, hashed and copied.

Copying a file takes a hundredth of the time of rewriting its tables, which have to be compressed again.
"""

import hashlib
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import searched_tables, stages_made
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.storage.duckdb_access import (
    UNLOGGED,
    attach,
    first_row,
    frame_of,
    is_busy,
    writing_instance,
)
from graphrag_dagster.kernel.storage.published.provenance import Accounts
from graphrag_dagster.kernel.storage.published.snapshot_manifest import Published, held_error
from graphrag_dagster.kernel.storage.warehouse import Warehouse, of_corpus, qualified
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_FILES
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.tables.usage_tables import ACCOUNTS, MODEL_USAGE, RUN_USAGE

#: Largest share of free blocks in a file that is copied: deleted rows take space in the copy.
_MOST_FREE = 0.25


def can_copy_base(connection: duckdb.DuckDBPyConnection, alias: str, file: Path) -> bool:
    """Whether a file can be copied as a whole: no pending log, no views, few free blocks.

    Args:
        connection: a connection to which it is attached for reading.
        alias: its name there.
        file: its path.
    """
    log = file.with_name(f"{file.name}.wal")
    if log.is_file() and log.stat().st_size:
        return False
    run = connection.execute
    existing = "select 1 from {}() where database_name = ? and not internal limit 1"
    if first_row(run(existing.format("duckdb_views"), [alias])):
        return False
    room = "select free_blocks, total_blocks from pragma_database_size() where database_name = ?"
    free, blocks = first_row(run(room, [alias])) or (0, 0)
    return bool(free <= _MOST_FREE * blocks)


def keep_only(connection: duckdb.DuckDBPyConnection, alias: str, names: Collection[tuple[str, str]]) -> None:
    """Drop all tables of an attached file except these schemas and names."""
    query = "select schema_name, table_name from duckdb_tables() where database_name = ?"
    for table in connection.execute(query, [alias]).fetchall():
        if table not in names:
            schema, name = (part.replace('"', '""') for part in table)
            connection.execute(f'drop table {alias}."{schema}"."{name}"')


#: The tables that search methods read.
SEARCHED = tuple(table for table in all_tables() if table.full_name in searched_tables())
#: The tables of stages made on request, such as answers and evaluations.
RESULTS = tuple(table for table in all_tables() if table.group in stages_made("request"))
#: The columns by which it is told whether a document with its metadata is gone; the id is a hash of its text.
IDENTIFYING = ("document_id", "path", "row", "source_id", "title", "date", "metadata")
_WORKING, _STANDING, _MAKING = "working", "standing", "making"
# One thread reads one row group at a time; without a limit, DuckDB keeps read data in memory.
_CONFIG: dict[str, Any] = {**UNLOGGED, "threads": 1, "memory_limit": "256MB"}


def document_identities(documents: pl.DataFrame) -> set[str]:
    """Return hashes of documents' ids and metadata, without their paths.

    A title that is only the file name is left out, so that a moved document does not count as deleted.

    Args:
        documents: rows of ``corpus.documents``, with the columns :data:`IDENTIFYING`.
    """
    rows = documents.select(IDENTIFYING).iter_rows()
    return {
        stable_id(identity, source, "" if _from_path(title, path, row) else title, date, metadata)
        for identity, path, row, source, title, date, metadata in rows
    }


def _from_path(title: str, path: str, row: int | None) -> bool:
    name = Path(path).stem
    return title == (name if row is None else f"{name} (row {row})")


@dataclass(frozen=True, slots=True)
class TablePart:
    """A table of a snapshot: its source file, columns, number of rows and their hash."""

    table: Table
    source: str
    columns: tuple[str, ...]
    rows: int
    hash: str


class Contents:
    """The tables of a snapshot to be made, over a connection to their source files.

    Args:
        connection: has the working file attached, and the previous snapshot if there is one.
        corpus: the corpus.
        fresh: tables that are always taken from the working file.
        standing: whether there is a previous snapshot.
        working: path of the working file.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        corpus: str,
        fresh: Collection[Table],
        standing: bool,
        working: Path,
    ) -> None:
        self._connection = connection
        self._working = working
        self._corpus = corpus
        self._columns_in = {source: self._columns_of(source) for source in (_WORKING, _STANDING)}
        # An index with deleted documents stays published until a newer one is complete. Results made with
        # it must not outlive it.
        lasting = standing and not self._documents_are_gone()

        def source(table: Table) -> str:
            stays = lasting if table in RESULTS else standing
            return _STANDING if stays and table not in fresh else _WORKING

        self.parts = self._parts({table: source(table) for table in all_tables() if table not in ACCOUNTS})

    def version(self, of: Collection[Table] = all_tables()) -> str:
        """Return an order-independent hash of the tables' rows."""
        parts = [
            (part.table.full_name, part.columns, part.rows, part.hash)
            for part in self.parts
            if part.table in of
        ]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def counts(self) -> dict[str, int]:
        """Return the number of rows of each table but the usage accounts, by its full name."""
        return {part.table.full_name: part.rows for part in self.parts}

    def files(self) -> list[dict[str, Any]]:
        """Return path, hash and number of documents of every file of the corpus but ignored ones, by path."""
        rows = self._rows(tables.FILES, "path, sha256, documents, status", "path")
        return [
            {"path": path, "sha256": sha256, "documents": documents}
            for path, sha256, documents, status in rows
            if status != "ignored"
        ]

    def embedder(self) -> str | None:
        """Return the embedder of the vectors, or None. Vectors of reports always exist if any do."""
        for table in (tables.TEXT_UNIT_EMBEDDINGS, tables.REPORT_EMBEDDINGS):
            if (rows := self._rows(table, "any_value(embedder)", "1")) and rows[0][0]:
                return str(rows[0][0])
        return None

    def copy(self, file: Path, accounts: Accounts | None) -> dict[str, int]:
        """Write all tables into a new DuckDB file, and return the row counts of the usage accounts by table.

        Raises:
            duckdb.Error: it cannot be written.
        """
        run = self._connection.execute
        copied = self._begin_file(file)
        attach(self._connection, file, _MAKING, read_only=False)
        try:
            run("begin")
            keep_only(self._connection, _MAKING, {(part.table.schema, part.table.name) for part in copied})
            for part in self.parts:
                if part not in copied:
                    self._copy(part)
            account_rows = self._copy_accounts() if accounts is None else self._make_accounts(accounts)
            run("commit")
            # Closing the file would checkpoint it too, but without reporting errors.
            run(f"checkpoint {_MAKING}")
        except BaseException:
            self._connection.close()
            raise
        run(f"detach {_MAKING}")
        return account_rows

    def _begin_file(self, file: Path) -> list[TablePart]:
        """Start the file as a copy of the working file if possible, and return the parts it already has."""
        if not can_copy_base(self._connection, _WORKING, self._working):
            return []
        shutil.copyfile(self._working, file)
        return [part for part in self.parts if part.source == _WORKING and self._is_whole(part)]

    def _is_whole(self, part: TablePart) -> bool:
        """Whether a part has all columns of its table, in order."""
        return ["corpus", *part.columns] == [*self._columns(part.table, part.source)]

    def _copy(self, part: TablePart) -> None:
        self._connection.execute(f'create schema if not exists {_MAKING}."{part.table.schema}"')
        names = ", ".join(f'"{name}"' for name in ("corpus", *part.columns))
        rows = self._select(part.table, names, part.source)
        self._connection.execute(f"create table {qualified(part.table, _MAKING)} as {rows}")

    def _copy_accounts(self) -> dict[str, int]:
        parts = self._parts(dict.fromkeys(ACCOUNTS, _WORKING))
        for part in parts:
            self._copy(part)
        return {part.table.full_name: part.rows for part in parts}

    def _make_accounts(self, accounts: Accounts) -> dict[str, int]:
        run, rows = self._connection.execute, {}
        self._connection.register("accounts", accounts.model_usage.__arrow_c_stream__())
        run(f"use {_MAKING}")
        for table, query in ((MODEL_USAGE, "from accounts"), (RUN_USAGE, accounts.run_usage)):
            columns = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
            names = ", ".join(f'"{name}"' for name in table.column_names)
            run(f'create schema if not exists "{table.schema}"')
            run(f"create table {qualified(table)} (corpus VARCHAR, {columns})")
            inserting = f"insert into {qualified(table)} select ?, {names} from ({query})"
            ((rows[table.full_name],),) = run(inserting, [self._corpus]).fetchall()
        run("use memory")
        self._connection.unregister("accounts")
        return rows

    def _documents_are_gone(self) -> bool:
        """Whether documents or graph files of the previous snapshot were changed or deleted in the
        warehouse.
        """
        if not all(
            {*IDENTIFYING}.issubset(self._columns(tables.DOCUMENTS, source))
            for source in (_STANDING, _WORKING)
        ):
            return True
        names = ", ".join(f'"{name}"' for name in IDENTIFYING)
        if self._are_gone(tables.DOCUMENTS, names):
            # Or only moved.
            before, now = (
                document_identities(frame_of(self._connection, self._select(tables.DOCUMENTS, names, source)))
                for source in (_STANDING, _WORKING)
            )
            if before - now:
                return True
        return bool(self._columns(IMPORTED_FILES, _STANDING)) and self._are_gone(
            IMPORTED_FILES, "sha256", " and status = 'read'"
        )

    def _are_gone(self, table: Table, names: str, which: str = "") -> bool:
        before, now = (self._select(table, names, source) + which for source in (_STANDING, _WORKING))
        return first_row(self._connection.execute(f"{before} except {now} limit 1")) is not None

    def _select(self, table: Table, names: str, source: str) -> str:
        return f"select {names} from {qualified(table, source)} where {of_corpus(self._corpus)}"

    def _parts(self, sources: Mapping[Table, str]) -> list[TablePart]:
        """Return the existing tables among some, each from its source."""
        # Imported here because it loads PyArrow.
        from graphrag_dagster.kernel.storage.content_hash import content_hash

        parts = []
        for table, source in sources.items():
            present = self._columns(table, source)
            if columns := tuple(name for name in table.column_names if name in present):
                names = ", ".join(f'"{name}"' for name in columns)
                rows = self._select(table, names, source)
                hashed = content_hash(self._connection, table, columns, rows)
                parts.append(TablePart(table, source, columns, *hashed))
        return parts

    def _columns(self, table: Table, source: str) -> Sequence[str]:
        return self._columns_in[source].get((table.schema, table.name), ())

    def _columns_of(self, source: str) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return the columns of every table of a file, in order, by schema and name."""
        rows = self._connection.execute(
            "select schema_name, table_name, list(column_name order by column_index) from duckdb_columns() "
            f"where database_name = '{source}' group by all"
        ).fetchall()
        return {(schema, name): columns for schema, name, columns in rows}

    def _rows(self, table: Table, columns: str, order: str) -> list[Any]:
        for part in self.parts:
            if part.table == table and part.rows:
                query = self._select(table, columns, part.source)
                return self._connection.execute(f"{query} order by {order}").fetchall()
        return []


@contextmanager
def contents(
    warehouse: Warehouse, corpus: str, fresh: Collection[Table], before: Published | None, spill: Path
) -> Iterator[Contents]:
    """Open the source files of a snapshot.

    Args:
        warehouse: the warehouse with the working file.
        corpus: the corpus.
        fresh: tables to take from the working file. The others are those of the previous snapshot, so that
            nothing incomplete is published beside them. All are taken from the working file if there is no
            previous snapshot; so are results made with an index that has deleted documents.
        before: the current snapshot, or None.
        spill: folder for data that exceeds memory.

    Raises:
        WarehouseError: the working file or the previous snapshot cannot be read.
    """
    config = {**_CONFIG, "temp_directory": str(spill)}
    with ExitStack() as stack:
        connection = stack.enter_context(writing_instance(config))
        warehouse.attach(connection, corpus, _WORKING)
        if before is not None:
            _attach_current(connection, before)
        yield Contents(connection, corpus, fresh, before is not None, warehouse.file(corpus))


def _attach_current(connection: duckdb.DuckDBPyConnection, before: Published) -> None:
    try:
        attach(connection, before.file, _STANDING, read_only=True)
    except duckdb.Error as error:
        if is_busy(error):
            raise held_error(before, error) from error
        raise WarehouseError(
            f"the published index {before.file} cannot be read ({str(error).splitlines()[0]}); delete it "
            "and run again"
        ) from error
