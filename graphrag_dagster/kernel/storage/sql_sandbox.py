"""User queries over a corpus's tables: read-only, in a process that is stopped at its limits."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from threading import Event, Semaphore, Timer
from typing import IO, Any, cast

import duckdb
import polars as pl

from graphrag_dagster.errors import QueryError, QuestionError
from graphrag_dagster.kernel.common.printable import make_unique
from graphrag_dagster.kernel.storage.duckdb_access import is_damage, missing_column, missing_table
from graphrag_dagster.kernel.storage.published import Published, reading
from graphrag_dagster.kernel.storage.queries import Query, QueryRows
from graphrag_dagster.kernel.storage.warehouse import Warehouse, command_making
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Column, EngineNames, Table


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of a query.

    Attributes:
        seconds: time from its start to its last row.
        megabytes: memory.
        raisable: whether the user may raise them with options of the command ``sql``.
    """

    seconds: float = 60.0
    megabytes: int = 1000
    raisable: bool = True


#: More processes at a time than processors make each other late.
_places = Semaphore(max(2, os.cpu_count() or 1))


@contextmanager
def guarded_process(
    program: Path,
    request: Mapping[str, Any],
    limits: QueryLimits,
    failed: Callable[[dict[str, str]], Exception],
) -> Iterator[Iterator[list[Any]]]:
    """Run a program that answers one JSON request with lines of JSON; the lines are read inside the block.

    As many run at a time as there are processors, two at least; what waits for its turn is not late.

    Args:
        program: the file of the program.
        request: the request, without the limits.
        limits: the process is killed at these.
        failed: creates the error for a mapping that the program writes instead of a list; called for all
            errors but exceeded limits.

    Raises:
        Exception: an error created by ``failed``.
        QuestionError: it reached a limit.
    """
    limited = {**request, "seconds": limits.seconds, "megabytes": limits.megabytes}
    # -P: the current folder may contain modules of any name.
    command = [sys.executable, "-P", str(program)]
    pipe, nowhere, late = subprocess.PIPE, subprocess.DEVNULL, Event()
    with (
        _places,
        subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=nowhere, text=True, encoding="ascii"
        ) as process,
    ):

        def stop() -> None:
            late.set()
            process.kill()

        timer = Timer(limits.seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            # Why it reads no more, its exit tells.
            with suppress(OSError), cast("IO[str]", process.stdin) as stdin:
                stdin.write(json.dumps(limited))
            yield _lines(process, limits, late, failed)
        finally:
            timer.cancel()
            process.kill()


def _lines(
    process: subprocess.Popen[str],
    limits: QueryLimits,
    late: Event,
    failed: Callable[[dict[str, str]], Exception],
) -> Iterator[list[Any]]:
    for line in cast("IO[str]", process.stdout):
        # Otherwise it was killed while it wrote.
        if line.endswith("\n"):
            response = json.loads(line)
            if isinstance(response, list):
                yield response
            elif response["error"] in {"memory", "late"}:
                raise _limit_error(limits, late=response["error"] == "late")
            else:
                raise failed(response)
    if process.wait() != 0:
        raise _limit_error(limits, late=late.is_set())


def _limit_error(limits: QueryLimits, *, late: bool) -> QuestionError:
    if late:
        problem, option = f"took more than {limits.seconds:g} s", "--seconds"
    else:
        problem, option = f"needs more than {limits.megabytes:,} MB of memory", "--memory-mb"
    raising = f", or raise the limit with {option}" if limits.raisable else ""
    return QuestionError(f"the query {problem} and was stopped; ask for less{raising}")


_PROGRAM = Path(__file__).with_name("sql_process.py")
_LONGEST_TOLD = 1500


@dataclass(frozen=True, slots=True)
class ResultRows:
    """Result of a query.

    Attributes:
        columns: unique column names.
        numeric: which columns are numbers.
        rows: one list of values per row as JSON has them, to be read inside the block: numbers, booleans,
            lists, mappings and null; everything else, and what is cut, is a text.
    """

    columns: list[str]
    numeric: list[bool]
    rows: Iterator[list[Any]]


@contextmanager
def run_query(
    warehouse: Warehouse,
    corpus: str,
    query: str,
    limits: QueryLimits,
    *,
    snapshot: Published | None = None,
    parameters: Mapping[str, Any] | None = None,
    tables: Collection[str] | None = None,
    most_rows: int | None = None,
    most_characters: int | None = None,
) -> Iterator[ResultRows]:
    """Run one read-only statement over a snapshot of a corpus.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        query: the statement.
        limits: limits of the query.
        snapshot: the snapshot; None for the current one.
        parameters: values of its ``$names``.
        tables: the only tables, as ``schema.table``, that it may read; None for all.
        most_rows: row limit.
        most_characters: length limit of texts, lists and mappings, which are cut.

    Raises:
        QuestionError: it is not a single read-only statement, reads other tables, is rejected by DuckDB, or
            reaches a limit; or the snapshot has been deleted.
        WarehouseError: the corpus has not been indexed.
        DamagedError: data it reads is damaged.
    """
    request = {
        "query": query,
        "parameters": parameters or None,
        "tables": None if tables is None else list(tables),
        "rows": most_rows,
        "characters": most_characters,
    }

    def failed(problem: dict[str, str]) -> Exception:
        return _refusal(problem, query)

    with (
        _file(warehouse, corpus, snapshot) as file,
        guarded_process(_PROGRAM, {**request, "file": str(file)}, limits, failed) as lines,
    ):
        columns, numeric, nested = next(lines)
        rows = ([_value(*cell) for cell in zip(row, nested, strict=True)] for row in lines)
        yield ResultRows(make_unique(columns), numeric, rows)


@contextmanager
def _file(warehouse: Warehouse, corpus: str, snapshot: Published | None) -> Iterator[Path]:
    with reading(warehouse, corpus) as (_, current):
        if snapshot is None or (current and current.version == snapshot.version):
            yield current.file if current else warehouse.file(corpus)
            return
    if not snapshot.file.is_file():
        raise QueryError(f"the opened index of {corpus!r} has been deleted: open the corpus again")
    yield snapshot.file


def _value(value: Any, nested: bool) -> Any:
    try:
        return json.loads(value) if nested and value is not None else value
    except ValueError:
        return value


def _refusal(problem: dict[str, str], query: str) -> Exception:
    if problem["error"] == "refused":
        return QuestionError("write a single select statement; nothing else can be run here")
    text = problem["text"].strip()
    if is_damage(text):
        # As if this process had read the file; the caller adds its name and the fix.
        return duckdb.IOException(text)
    hints = "".join(f"\n{line}" for line in _hints(text, query))
    return QuestionError(f"the query failed: {text[:_LONGEST_TOLD]}{hints}")


def _hints(problem: str, query: str) -> Iterator[str]:
    """Suggestions for a table or column that DuckDB does not know."""
    if missing := missing_table(problem):
        declared = {table.full_name: table for table in all_tables()}
        if table := declared.get(missing):
            yield f"{missing} is not made yet: {command_making(table, 'NAME')}"
            return
        known = {name: name for name in declared} | {one.name: name for name, one in declared.items()}
        matches = dict.fromkeys(known[name] for name in get_close_matches(missing, known, 3))
        if matches:
            yield f"nearest tables: {', '.join(matches)}"
    if missing_column(problem):
        words = set(re.findall(r"\w+", query.lower()))
        for table in all_tables():
            if {table.schema, table.name} <= words:
                yield f"columns of {table.full_name}: {', '.join(table.column_names)}"


#: Limits of interactive use, with several users at the same time.
LIMITS = QueryLimits(seconds=20.0, megabytes=500, raisable=False)
_LONGEST_CELL = 1000


class SnapshotQueries:
    """A :class:`~graphrag_dagster.kernel.questions.context.index_snapshot.Queries` over a corpus's snapshot.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        snapshot: the snapshot to query; None for the working file.
        limits: limits of a query.
    """

    def __init__(
        self, warehouse: Warehouse, corpus: str, snapshot: Published | None, limits: QueryLimits = LIMITS
    ) -> None:
        self._warehouse = warehouse
        self._corpus = corpus
        self._snapshot = snapshot
        self._limits = limits

    def columns(self, tables: Collection[str]) -> str:
        """Describe tables and their columns, one line each."""
        return "\n\n".join(_describe_table(table) for table in all_tables() if table.full_name in tables)

    def run(self, query: Query, most: int, tables: Collection[str] | None = None) -> QueryRows:
        """Return the first rows of a query; see the port.

        Raises:
            QueryError: see the port.
            DamagedError: data it reads is damaged.
        """
        try:
            with run_query(
                self._warehouse,
                self._corpus,
                query.sql,
                self._limits,
                snapshot=self._snapshot,
                parameters=query.parameters,
                tables=tables,
                # One more row shows whether there are more.
                most_rows=most + 1,
                most_characters=_LONGEST_CELL,
            ) as result:
                rows = [_row(result.columns, row) for row in result.rows]
        except QuestionError as error:
            raise QueryError(str(error)) from None
        return QueryRows(tuple(rows[:most]), len(rows) > most)

    def frame(self, query: str, limits: QueryLimits) -> pl.DataFrame:
        """Return all rows of a query, decimals as floats; see :func:`run_query`."""
        with run_query(self._warehouse, self._corpus, query, limits, snapshot=self._snapshot) as found:
            rows = list(found.rows)
        frame = pl.DataFrame(rows, found.columns, orient="row", infer_schema_length=None, strict=False)
        numbers = [name for name, number in zip(found.columns, found.numeric, strict=True) if number]
        return frame.with_columns(
            pl.col(name).cast(pl.Float64) for name in numbers if frame[name].dtype == pl.String
        )


def _row(columns: Sequence[str], row: Sequence[Any]) -> Mapping[str, Any]:
    return {name: _plain(value) for name, value in zip(columns, row, strict=True)}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict) else value


def _describe_table(table: Table) -> str:
    columns = (
        f"  {column.name} {column.type}: {column.meaning}{_values(column)}" for column in table.columns
    )
    return "\n".join([f"{table.full_name}: {table.meaning}", *columns])


def _values(column: Column) -> str:
    # Engine names depend on the installed plug-ins, and would change the prompt.
    values = () if isinstance(column.values, EngineNames) else column.values
    return f" ({', '.join(values)})" if values else ""
