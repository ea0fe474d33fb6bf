"""User queries over a corpus's tables: read-only, in a process that is stopped at its limits."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from threading import Timer
from typing import IO, Any, cast

import duckdb

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.catalogue.registry import all_tables
from graphrag_dagster.kernel.documents.column_roles import once_each
from graphrag_dagster.kernel.questions.context.index_snapshot import Query, QueryError, QueryRows
from graphrag_dagster.kernel.storage.duckdb_access import first_row, is_damage, missing_column, missing_table
from graphrag_dagster.kernel.storage.published import Published, reading
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.kernel.tables.table_declaration import Column, EngineNames


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of a query.

    Attributes:
        seconds: time, from its start to its last row.
        megabytes: memory.
        raisable: the user may raise them with the options of the command ``sql``.
    """

    seconds: float = 60.0
    megabytes: int = 1000
    raisable: bool = True


class GuardedProcess:
    """A program that answers one request, given as JSON: it writes a line of JSON for each thing it tells.

    Args:
        program: the file.
        request: what it is given, beside the limits.
        limits: it is killed there.
        failed: makes an error of a mapping that it writes in place of a list; asked for all but limits.
    """

    def __init__(
        self,
        program: Path,
        request: Mapping[str, Any],
        limits: QueryLimits,
        failed: Callable[[dict[str, str]], Exception],
    ) -> None:
        self._program = program
        self._request = {**request, "seconds": limits.seconds, "megabytes": limits.megabytes}
        self._limits = limits
        self._failed = failed
        self._late = False

    def __enter__(self) -> "GuardedProcess":
        # -P: the folder in which the command is given may hold modules of any name.
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-P", str(self._program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",
        )
        self._here = cast("IO[str]", self._process.stdin)
        self._there = cast("IO[str]", self._process.stdout)
        self._timer = Timer(self._limits.seconds, self._stop)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()
        for stream in (self._here, self._there):
            with suppress(OSError):
                stream.close()
        self._process.wait()

    def begun(self) -> Any:
        """Send the request, and return what the program tells first.

        Raises:
            Exception: what ``failed`` makes.
            QuestionError: it reached a limit.
        """
        try:
            self._here.write(json.dumps(self._request))
            self._here.close()
        except OSError:
            raise self._ended() from None
        first = self._line()
        if first is None:
            raise self._ended()
        return first

    def rows(self) -> Iterator[list[Any]]:
        """Yield what the program tells after that; raises as :meth:`begun`."""
        while (row := self._line()) is not None:
            yield row
        if self._process.wait() != 0:
            raise self._ended()

    def _line(self) -> Any:
        line = self._there.readline()
        if not line.endswith("\n"):
            return None
        told = json.loads(line)
        if isinstance(told, dict):
            raise self._stopped(told)
        return told

    def _stopped(self, told: dict[str, str]) -> Exception:
        if told["error"] == "memory":
            return self._too_large()
        return self._too_late() if told["error"] == "late" else self._failed(told)

    def _stop(self) -> None:
        self._late = True
        self._process.kill()

    def _ended(self) -> QuestionError:
        self._process.wait()
        return self._too_late() if self._late else self._too_large()

    def _too_late(self) -> QuestionError:
        return QuestionError(
            f"the query took more than {self._limits.seconds:g} s and was stopped; ask for less"
            + (", or raise the limit with --seconds" if self._limits.raisable else "")
        )

    def _too_large(self) -> QuestionError:
        return QuestionError(
            f"the query needs more than {self._limits.megabytes:,} MB of memory and was stopped; ask for less"
            + (", or raise the limit with --memory-mb" if self._limits.raisable else "")
        )


_PROGRAM = Path(__file__).with_name("sql_process.py")
_LONGEST_TOLD = 1500


@dataclass(frozen=True, slots=True)
class ResultRows:
    """Result of a query.

    Attributes:
        columns: their names, each once.
        numeric: which of them are numbers.
        nested: which of them are lists and mappings, as texts of JSON; only where values are wanted.
        rows: one list of values a row; to be read inside the block.
    """

    columns: list[str]
    numeric: list[bool]
    nested: list[bool]
    rows: Iterator[list[Any]]


@contextmanager
def queried(
    warehouse: Warehouse,
    corpus: str,
    query: str,
    limits: QueryLimits | None = None,
    *,
    values: bool = False,
    most_rows: int | None = None,
    most_characters: int | None = None,
) -> Iterator[ResultRows]:
    """Run one statement that reads, over a corpus's current snapshot.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.
        query: the statement.
        limits: what it may take.
        values: give what JSON has a form for as such, in place of texts.
        most_rows: give no more.
        most_characters: give no more of a text.

    Raises:
        QuestionError: it is not one statement that only reads, DuckDB refuses it, or it reaches a limit.
        WarehouseError: the corpus has not been indexed.
        DamagedError: what it reads cannot be read.
    """
    with reading(warehouse, corpus) as (reader, _):
        found = queried_file(
            file_of(reader),
            query,
            limits,
            values=values,
            most_rows=most_rows,
            most_characters=most_characters,
        )
        with found as rows:
            yield rows


def file_of(reader: Reader) -> str:
    """Return the path of the file that a reader reads."""
    found = first_row(
        reader.connection.execute(
            "select path from duckdb_databases() where database_name = current_database()"
        )
    )
    return str(found[0]) if found else ""


@contextmanager
def queried_file(
    file: str,
    query: str,
    limits: QueryLimits | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    tables: Collection[str] | None = None,
    values: bool = False,
    most_rows: int | None = None,
    most_characters: int | None = None,
) -> Iterator[ResultRows]:
    """Run one statement that reads, over a DuckDB file; see :func:`queried`.

    Args:
        file: path of the file, which may be open elsewhere to read.
        query: the statement.
        limits: what it may take.
        parameters: values of its ``$names``; with them, values are given as such, and ``most_rows`` too.
        tables: the only ones that it may read; None for all.
        values: give what JSON has a form for as such, in place of texts.
        most_rows: give no more.
        most_characters: give no more of a text.

    Raises:
        QuestionError: it is not one statement that only reads, or only those tables, DuckDB refuses it, or it
            reaches a limit.
    """
    request = {
        "file": file,
        "query": query,
        "parameters": parameters,
        "tables": None if tables is None else list(tables),
        "values": values,
        "rows": most_rows,
        "characters": most_characters,
    }

    def failed(told: dict[str, str]) -> Exception:
        return _refused(told, query)

    with GuardedProcess(_PROGRAM, request, limits or QueryLimits(), failed) as process:
        columns, numeric, nested = process.begun()
        yield ResultRows(once_each(columns), numeric, nested, process.rows())


def _refused(told: dict[str, str], query: str) -> Exception:
    if told["error"] == "refused":
        return QuestionError("write a single select statement; nothing else can be run here")
    text = told["text"].strip()
    if is_damage(text):
        # As if the file were read in this process: who opened it names it, with the way out.
        return duckdb.IOException(text)
    hints = "".join(f"\n{line}" for line in _hints(text, query))
    return QuestionError(f"the query failed: {text[:_LONGEST_TOLD]}{hints}")


def _hints(problem: str, query: str) -> Iterator[str]:
    """Suggestions for a table or column that DuckDB does not know."""
    if missing := missing_table(problem):
        known = {table.full_name: table.full_name for table in all_tables()}
        known |= {table.name: table.full_name for table in all_tables()}
        near = dict.fromkeys(known[name] for name in get_close_matches(missing, known, 3))
        if near:
            yield f"nearest tables: {', '.join(near)}"
    if missing_column(problem):
        words = set(re.findall(r"\w+", query.lower()))
        for table in all_tables():
            if {table.schema, table.name} <= words:
                yield f"columns of {table.full_name}: {', '.join(table.column_names)}"


#: Somebody waits, and others ask at the same time.
LIMITS = QueryLimits(seconds=20.0, megabytes=500, raisable=False)
_LONGEST_CELL = 1000


class SnapshotQueries:
    """A :class:`~graphrag_dagster.kernel.questions.context.index_snapshot.Queries` over a corpus's snapshot.

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

    def run(self, query: Query, most: int, tables: Collection[str] | None = None) -> QueryRows:
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
        return QueryRows(tuple(rows[:most]), len(rows) > most)

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


def _row(found: ResultRows, row: list[Any]) -> Mapping[str, Any]:
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
