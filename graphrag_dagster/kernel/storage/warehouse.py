"""One DuckDB file per corpus, opened only during a read or write."""

import glob
import random
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import polars as pl
from pydantic import Field

from graphrag_dagster.errors import DamagedError, HeldError, WarehouseError
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.storage.corpus_names import check_name, is_allowed
from graphrag_dagster.kernel.storage.duckdb_access import (
    attach,
    damage_errors,
    first_row,
    frame_of,
    free_memory,
    holder_of,
    identity,
    is_busy,
    missing_column,
    open_alone,
    open_shared,
)
from graphrag_dagster.kernel.storage.file_format import begin_format, check_format
from graphrag_dagster.kernel.storage.home import published_url, warehouse_template
from graphrag_dagster.kernel.tables.table_declaration import VECTOR, Table

_T = TypeVar("_T")
_WAITS = (0.02, 0.2)
#: Commands that make tables, by table or stage; all others are made by ``index``.
_MADE_BY = {
    "paths.study": "study {} paths",
    "questions": "answer {}",
    "answers": "answer {}",
    "evaluation": "evaluate {}",
    "studies": "study {} gleanings|windows|context",
    "paths": "paths {}",
}
#: Staged frames may exceed memory; the rest is spilled to disk.
_STAGING: dict[str, Any] = {"memory_limit": "2GB"}
#: Name under which DuckDB reads a frame.
_INCOMING = "incoming"
#: Rows in the sample of a written table.
_SAMPLE = 5
_MEND = "move it away to rebuild it"


def _quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def qualified(table: Table, database: str | None = None) -> str:
    """The table's name as SQL, optionally in an attached database."""
    where = "" if database is None else f"{_quoted(database)}."
    return f"{where}{_quoted(table.schema)}.{_quoted(table.name)}"


def of_corpus(corpus: str) -> str:
    """The SQL condition that a row belongs to a corpus.

    It is not a parameter: for each one DuckDB searches for a package that may not be installed, and a run
    sends hundreds of queries.
    """
    return f"corpus = {_literal(corpus)}"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """Written rows: their number, a sample of the first, and an order-independent hash of all."""

    rows: int
    sample: pl.DataFrame
    version: str


class Warehouse(Resource):
    """Reads and writes declared tables. Each write replaces a corpus's rows in one transaction.

    ``path`` is a template that contains ``{corpus}``. Opening a file held by another process is retried at
    random intervals for at most ``lock_timeout_seconds``.
    """

    path: str = ""
    lock_timeout_seconds: float = 60.0
    published: str = Field(
        default="",
        description="URL below which snapshots are shared by machines, such as s3://bucket/prefix; default: "
        "$GRAPHRAG_DAGSTER_PUBLISHED",
    )
    take_over: bool = Field(
        default=False,
        description="publish there although another home has published the corpus since",
    )

    @property
    def published_url(self) -> str:
        """URL below which snapshots are shared, without a slash at the end; empty if they are not."""
        return (self.published or published_url()).rstrip("/")

    def file(self, corpus: str) -> Path:
        """The path of the corpus's DuckDB file.

        Raises:
            CorpusError: the name is invalid.
            WarehouseError: the template has no ``{corpus}``.
        """
        template = self.path or warehouse_template()
        if "{corpus}" not in template:
            raise WarehouseError(
                f"the warehouse path {template!r} has no {{corpus}}: each corpus needs its own file"
            )
        return Path(template.replace("{corpus}", check_name(corpus)))

    def corpora(self) -> list[str]:
        """Names of the corpora that have a file, sorted."""
        return self.corpora_with(Path(self.path or warehouse_template()).name)

    def corpora_with(self, path: str) -> list[str]:
        """Names of the corpora that have a certain file, sorted.

        Args:
            path: beside that of their tables, with ``{corpus}``.
        """
        template = str(Path(self.path or warehouse_template()).parent / path)
        first, *more = map(re.escape, template.split("{corpus}"))
        # It may stand in the name of a folder, and more than once.
        pattern = re.compile(r"(?P<name>[^/\\]+)".join([first, "(?P=name)".join(more)]))
        files = glob.glob(glob.escape(template).replace("{corpus}", "*"))  # noqa: PTH207 - of a whole path.
        found = (pattern.fullmatch(file) for file in files if Path(file).is_file())
        return sorted(match["name"] for match in found if match and is_allowed(match["name"]))

    @contextmanager
    def connect(
        self, corpus: str, *, read_only: bool = False, config: dict[str, Any] | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the corpus's file for the length of the block.

        Raises:
            WarehouseError: there is no such file to read, or it is of another format.
            HeldError: another process holds it.
            DamagedError: it is not a DuckDB file, or damage is found on opening or in the block.
        """
        file = self._existing_file(corpus) if read_only else self.file(corpus)
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = self._retry_while_busy(
            file,
            lambda: (
                open_alone(file, read_only=read_only, config=config)
                if config
                else open_shared(file, read_only=read_only)
            ),
            lambda other: other.close(),
        )
        try:
            with damage_errors(file, _MEND):
                (check_format if read_only else begin_format)(opened.connection, file)
                yield opened.connection
        finally:
            opened.close()

    def attach(self, connection: duckdb.DuckDBPyConnection, corpus: str, alias: str) -> None:
        """Attach the corpus's file to an open connection for reading; waits like :meth:`connect`.

        Raises:
            WarehouseError: as :meth:`connect`.
        """
        file = self._existing_file(corpus)
        self._retry_while_busy(
            file,
            lambda: attach(connection, file, alias, read_only=True),
            lambda _: connection.execute(f"detach {_quoted(alias)}"),
        )

    def exists(self, table: Table, corpus: str) -> bool:
        """Whether the corpus's file has the table."""
        if not self.file(corpus).is_file():
            return False
        with self.connect(corpus, read_only=True) as connection:
            return bool(_columns(connection, table))

    @contextmanager
    def reading(self, corpus: str) -> Iterator["Reader"]:
        """Read several tables with the file opened once.

        Raises:
            WarehouseError: there is no file to read, another process holds it, or it is not a DuckDB file.
        """
        with self.connect(corpus, read_only=True) as connection:
            yield Reader(connection, corpus)

    def read(self, table: Table, corpus: str) -> pl.DataFrame:
        """Return the corpus's rows in key order, without the column ``corpus``.

        Raises:
            WarehouseError: the table has not been materialised for the corpus.
        """
        with self.reading(corpus) as reader:
            return reader.read(table)

    def read_if_present(self, table: Table, corpus: str, columns: Sequence[str] = ()) -> pl.DataFrame | None:
        """Return the corpus's rows like :meth:`Reader.read_if_present`; None also if there is no file."""
        if not self.file(corpus).is_file():
            return None
        with self.reading(corpus) as reader:
            return reader.read_if_present(table, columns)

    def write(self, table: Table, corpus: str, frame: pl.DataFrame) -> int:
        """Replace the corpus's rows by those of the frame, all or nothing, and return their number.

        Raises:
            WarehouseError: the frame does not match the declaration, another process holds the file, or
                writing failed, for instance because the disk is full; the file is then unchanged.
        """
        self.write_all(corpus, {table: frame})
        return frame.height

    def write_all(
        self,
        corpus: str,
        frames: MutableMapping[Table, pl.DataFrame],
        queries: Mapping[Table, str] | None = None,
        seen: Callable[[Table, pl.DataFrame], object] = lambda *_: None,
    ) -> None:
        """Replace the corpus's rows of several tables, all or nothing.

        Args:
            corpus: the corpus.
            frames: the rows of some tables. It is emptied, so that what is written takes no memory any more.
            queries: a trusted ``select`` for each of the others, over these and the existing tables. Each may
                read the results of those before it.
            seen: called with the rows of each table that are written.

        Raises:
            WarehouseError: as :meth:`write`; or a table or column that a query reads is missing.
        """
        for table, frame in frames.items():
            frames[table] = table.validated(frame)
        queries = queries or {}
        if not frames and not queries:
            return
        if not frames:
            # Queries alone need an existing file; do not create an empty one.
            self._existing_file(corpus)

        def replace(connection: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame) -> None:
            seen(table, rows)
            _replace(connection, table, corpus, rows)
            free_memory(self.file(corpus))

        with self._writing(corpus) as connection:
            # The largest last, beside none of the others.
            for table in sorted(frames, key=lambda table: frames[table].estimated_size()):
                replace(connection, table, frames.pop(table))
            for table, query in queries.items():
                replace(connection, table, _answer(connection, table, corpus, query))

    def write_staged(
        self, corpus: str, staged: Iterable[tuple[str, pl.DataFrame]], queries: Mapping[Table, str]
    ) -> Mapping[Table, WrittenTable]:
        """Replace the corpus's rows of several tables by the results of queries over staged frames.

        Only one frame at a time is held in memory. All is one transaction: if reading a frame fails, every
        table is unchanged.

        Args:
            corpus: the corpus.
            staged: frames, each with the name of its temporary table; frames of the same name have the same
                columns.
            queries: a trusted ``select`` over the temporary tables for each table.

        Raises:
            WarehouseError: as :meth:`write`.
        """
        with self._writing(corpus, _STAGING) as connection:
            temporary = _stage_frames(connection, staged)
            written = {}
            for table, query in queries.items():
                _begin_table(connection, table, {})
                names = ", ".join(_quoted(name) for name in table.column_names)
                keys = ", ".join(_quoted(key) for key in table.key)
                connection.execute(
                    f"insert into {qualified(table)} (corpus, {names}) "
                    f"select {_literal(corpus)}, {names} from ({query}) order by {keys}"
                )
                written[table] = _summarise_table(connection, table, corpus)
            for name in temporary:
                connection.execute(f"drop table temp.{_quoted(name)}")
        return written

    @contextmanager
    def _writing(
        self, corpus: str, config: dict[str, Any] | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            with self.connect(corpus, config=config) as connection, _transaction(connection):
                yield connection
        except (duckdb.IOException, duckdb.TransactionException) as error:
            raise WarehouseError(
                f"{self.file(corpus)} cannot be written ({str(error).splitlines()[0]}); its previous rows "
                "stay. Free disk space or fix the cause, and run again"
            ) from error

    def _existing_file(self, corpus: str) -> Path:
        file = self.file(corpus)
        if not file.is_file():
            raise WarehouseError(
                f"corpus {corpus!r} has not been indexed: {file} does not exist; run 'graphrag-dagster "
                "index' for it first"
            )
        return file

    def _retry_while_busy(self, file: Path, opening: Callable[[], _T], undoing: Callable[[_T], object]) -> _T:
        deadline = time.monotonic() + self.lock_timeout_seconds
        while True:
            before = identity(file)
            try:
                opened = opening()
            except duckdb.Error as error:
                late = time.monotonic() >= deadline
                if not is_busy(error):
                    # The file was replaced while it was opened; try the new one.
                    if not late and before != identity(file):
                        continue
                    raise DamagedError(
                        f"{file} cannot be opened as a DuckDB file: {str(error).splitlines()[0]}; {_MEND}"
                    ) from error
                if late:
                    raise HeldError(
                        f"{file} is in use by {holder_of(error)}; waited {self.lock_timeout_seconds:.0f} s. "
                        "Close it there and try again"
                    ) from error
                time.sleep(random.uniform(*_WAITS))  # noqa: S311 - a pause is no secret.
                continue
            if before is None or before == identity(file):
                return opened
            # The file was replaced before it was locked; open the new one.
            undoing(opened)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the declared tables of one corpus over an open connection."""

    connection: duckdb.DuckDBPyConnection
    corpus: str

    def has(self, table: Table) -> bool:
        """Whether the table was ever materialised."""
        return bool(_columns(self.connection, table))

    def counts(self, tables: Collection[Table]) -> dict[Table, int]:
        """Return the corpus's row counts of some tables, all of which must exist."""
        ours, numbered = of_corpus(self.corpus), dict(enumerate(tables))
        selects = (
            f"select {n}, count(*) from {qualified(table)} where {ours}" for n, table in numbered.items()
        )
        query = " union all ".join(selects)
        counts = self.connection.execute(query).fetchall() if numbered else []
        return {numbered[number]: rows for number, rows in counts}

    def is_empty(self, table: Table) -> bool:
        """Whether the table exists with all its columns, without rows of the corpus."""
        if not set(_columns(self.connection, table)).issuperset(table.column_names):
            return False
        query = f"select 1 from {qualified(table)} where {of_corpus(self.corpus)} limit 1"
        return first_row(self.connection.execute(query)) is None

    def read(self, table: Table, columns: Sequence[str] = ()) -> pl.DataFrame:
        """Return the corpus's rows like :meth:`read_if_present`.

        Raises:
            WarehouseError: the table has not been materialised for the corpus.
        """
        frame = self.read_if_present(table, columns)
        if frame is None:
            raise self._missing_table_error(table, "does not exist")
        return frame

    def read_if_present(self, table: Table, columns: Sequence[str] = ()) -> pl.DataFrame | None:
        """Return the corpus's rows, or None if the table was never materialised.

        Args:
            table: the table.
            columns: the columns; default: all but ``corpus``. Rows are in key order if the key is among them.

        Raises:
            WarehouseError: the table lacks a declared column.
        """
        names = ", ".join(map(_quoted, columns or table.column_names))
        query = f"select {names} from {qualified(table)} where {of_corpus(self.corpus)}"
        try:
            rows = frame_of(self.connection, query)
        except duckdb.CatalogException:
            return None
        except duckdb.BinderException as error:
            raise self._missing_table_error(table, f"has no column {missing_column(str(error))!r}") from error
        if not {*table.key}.issubset(rows.columns) or table.in_order(rows):
            return rows
        keys = ", ".join(_quoted(key) for key in table.key)
        return frame_of(self.connection, f"{query} order by {keys}")

    def answer(self, table: Table, query: str, buckets: int = 1) -> pl.DataFrame:
        """Return the rows that a trusted ``select`` makes for a table, in key order.

        Args:
            table: the table.
            query: makes its rows, or those of one bucket of keys by the variables ``buckets`` and ``bucket``.
            buckets: how many times it is asked, since DuckDB keeps lists that have an order in memory.

        Raises:
            WarehouseError: a table or column that the query reads is missing.
        """
        answers = []
        for bucket in range(buckets):
            self.connection.execute(f"set variable buckets = {buckets}; set variable bucket = {bucket}")
            answers.append(_answer(self.connection, table, self.corpus, query))
        return table.validated(pl.concat(answers)) if buckets > 1 else answers[0]

    def _missing_table_error(self, table: Table, problem: str) -> WarehouseError:
        where = "/".join(table.path)
        command = command_making(table, self.corpus)
        return WarehouseError(
            f"{table.full_name} {problem} for corpus {self.corpus!r}; run '{command}' "
            f"(in Dagster: materialise {where})"
        )


def command_making(table: Table, corpus: str) -> str:
    """Return the command that makes a table of a corpus."""
    command = _MADE_BY.get(table.full_name) or _MADE_BY.get(table.group, "index {}")
    return f"graphrag-dagster {command.format(corpus)}"


def _answer(connection: duckdb.DuckDBPyConnection, table: Table, corpus: str, query: str) -> pl.DataFrame:
    try:
        return table.validated(frame_of(connection, query))
    except (duckdb.BinderException, duckdb.CatalogException) as error:
        raise WarehouseError(
            f"{table.full_name} cannot be made: its inputs are missing, or lack a column "
            f"({str(error).splitlines()[0]}); run 'graphrag-dagster index {corpus}'"
        ) from error


@contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    connection.execute("begin")
    try:
        yield
    except BaseException:
        # Where DuckDB has rolled back by itself, as when the disk is full, there is nothing left to do.
        with suppress(duckdb.TransactionException):
            connection.execute("rollback")
        raise
    connection.execute("commit")


def _columns(connection: duckdb.DuckDBPyConnection, table: Table) -> list[str]:
    # Querying the information schema would load every table of the file.
    try:
        rows = connection.execute(f"describe {qualified(table)}").fetchall()
    except duckdb.CatalogException:
        return []
    return [name for name, *_ in rows]


def _vector_lengths(table: Table, frame: pl.DataFrame) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for column in table.columns:
        if column.type == VECTOR:
            dtype = frame.schema[column.name]
            if not isinstance(dtype, pl.Array) or dtype.inner != pl.Float32 or not dtype.size:
                raise WarehouseError(
                    f"{table.full_name}.{column.name} must be an array of float32 of one length, not {dtype}"
                )
            lengths[column.name] = dtype.size
    return lengths


def _begin_table(connection: duckdb.DuckDBPyConnection, table: Table, lengths: Mapping[str, int]) -> None:
    """Make the table anew as it is declared, without rows: the file has those of one corpus only."""
    types = {
        column.name: f"FLOAT[{lengths[column.name]}]" if column.type == VECTOR else column.type
        for column in table.columns
    }
    columns = ", ".join(f"{_quoted(name)} {type_}" for name, type_ in types.items())
    connection.execute(f"create schema if not exists {_quoted(table.schema)}")
    connection.execute(f"create or replace table {qualified(table)} (corpus VARCHAR, {columns})")


def _replace(
    connection: duckdb.DuckDBPyConnection, table: Table, corpus: str, incoming: pl.DataFrame
) -> None:
    _begin_table(connection, table, _vector_lengths(table, incoming))
    if incoming.is_empty():
        return
    names = ", ".join(_quoted(name) for name in table.column_names)
    with _register_frame(connection, incoming) as rows:
        connection.execute(
            f"insert into {qualified(table)} (corpus, {names}) select {_literal(corpus)}, {names} from {rows}"
        )


def _stage_frames(
    connection: duckdb.DuckDBPyConnection, frames: Iterable[tuple[str, pl.DataFrame]]
) -> set[str]:
    """Put frames into temporary tables, and return their names."""
    names: set[str] = set()
    for name, frame in frames:
        with _register_frame(connection, frame) as rows:
            if name in names:
                connection.execute(f"insert into temp.{_quoted(name)} by name select * from {rows}")
            else:
                connection.execute(f"create or replace temp table {_quoted(name)} as select * from {rows}")
                names.add(name)
    return names


@contextmanager
def _register_frame(connection: duckdb.DuckDBPyConnection, frame: pl.DataFrame) -> Iterator[str]:
    """Make a frame readable once in the block, under the returned name.

    As a stream: for an Arrow table, DuckDB has PyArrow create a scanner, which takes longer than reading a
    small table.
    """
    connection.register(_INCOMING, frame.__arrow_c_stream__())
    yield _INCOMING
    connection.unregister(_INCOMING)


def _summarise_table(connection: duckdb.DuckDBPyConnection, table: Table, corpus: str) -> WrittenTable:
    # Imported here because it loads PyArrow.
    from graphrag_dagster.kernel.storage.content_hash import content_hash

    names = ", ".join(_quoted(name) for name in table.column_names)
    rows = f"select {names} from {qualified(table)} where {of_corpus(corpus)}"
    number, hashed = content_hash(connection, table, table.column_names, rows)
    return WrittenTable(number, frame_of(connection, f"{rows} limit {_SAMPLE}"), hashed[:32])
