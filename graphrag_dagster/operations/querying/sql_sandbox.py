"""Queries of users over a corpus's tables: only reading, in a process that is stopped at its limits."""

import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from threading import Timer
from typing import IO, Any, cast

import duckdb

from graphrag_dagster.core.files.columns import once_each
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.resources.duckdb_files.duckdb_messages import is_damage, missing_column, missing_table
from graphrag_dagster.resources.published.reading import reading
from graphrag_dagster.resources.warehouse import Reader, Warehouse
from graphrag_dagster.tables import ALL_TABLES

_PROGRAM = Path(__file__).with_name("sql_process.py")
_LONGEST_TOLD = 1500


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """What a query may take.

    Attributes:
        seconds: time, from its start to its last row.
        megabytes: memory.
        raisable: who asks may give more, by the options of the command ``sql``.
    """

    seconds: float = 60.0
    megabytes: int = 1000
    raisable: bool = True


@dataclass(frozen=True, slots=True)
class Rows:
    """What a query gives.

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
    limits: SqlLimits | None = None,
    *,
    values: bool = False,
    most_rows: int | None = None,
    most_characters: int | None = None,
) -> Iterator[Rows]:
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
    found = reader.connection.execute(
        "select path from duckdb_databases() where database_name = current_database()"
    ).fetchone()
    return str(found[0]) if found else ""


@contextmanager
def queried_file(
    file: str,
    query: str,
    limits: SqlLimits | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    tables: Collection[str] | None = None,
    values: bool = False,
    most_rows: int | None = None,
    most_characters: int | None = None,
) -> Iterator[Rows]:
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
    given = limits or SqlLimits()
    request = {
        "file": file,
        "query": query,
        "parameters": parameters,
        "tables": None if tables is None else list(tables),
        "megabytes": given.megabytes,
        "seconds": given.seconds,
        "values": values,
        "rows": most_rows,
        "characters": most_characters,
    }
    with _Process(request, given) as process:
        yield process.begun()


class _Process:
    def __init__(self, request: dict[str, Any], limits: SqlLimits) -> None:
        self._request = request
        self._limits = limits
        self._late = False

    def __enter__(self) -> "_Process":
        # -P: the folder in which the command is given may hold modules of any name.
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM)],
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

    def begun(self) -> Rows:
        """Send the request, and wait for the columns."""
        try:
            self._here.write(json.dumps(self._request))
            self._here.close()
        except OSError:
            raise self._ended() from None
        first = self._line()
        if first is None:
            raise self._ended()
        columns, numeric, nested = first
        return Rows(once_each(columns), numeric, nested, self._rows())

    def _rows(self) -> Iterator[list[Any]]:
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
            raise self._refused(told)
        return told

    def _stop(self) -> None:
        self._late = True
        self._process.kill()

    def _refused(self, told: dict[str, str]) -> Exception:
        if told["error"] == "refused":
            return QuestionError("give one select statement; nothing else can be run here")
        if told["error"] == "memory":
            return self._too_large()
        text = told["text"].strip()
        if is_damage(text):
            # As if the file were read in this process: who opened it names it, with the way out.
            return duckdb.IOException(text)
        hints = "".join(f"\n{line}" for line in _hints(text, self._request["query"]))
        return QuestionError(f"the query failed: {text[:_LONGEST_TOLD]}{hints}")

    def _ended(self) -> QuestionError:
        self._process.wait()
        if self._late:
            return QuestionError(
                f"the query took more than {self._limits.seconds:g} s and was stopped; ask for less"
                + (", or give it more with --seconds" if self._limits.raisable else "")
            )
        return self._too_large()

    def _too_large(self) -> QuestionError:
        return QuestionError(
            f"the query needs more than {self._limits.megabytes:,} MB of memory and was stopped; ask for less"
            + (", or give it more with --memory-mb" if self._limits.raisable else "")
        )


def _hints(problem: str, query: str) -> Iterator[str]:
    """What was probably meant, where DuckDB does not know a table or a column."""
    if missing := missing_table(problem):
        known = {table.full_name: table.full_name for table in ALL_TABLES}
        known |= {table.name: table.full_name for table in ALL_TABLES}
        near = dict.fromkeys(known[name] for name in get_close_matches(missing, known, 3))
        if near:
            yield f"nearest tables: {', '.join(near)}"
    if missing_column(problem):
        words = set(re.findall(r"\w+", query.lower()))
        for table in ALL_TABLES:
            if {table.schema, table.name} <= words:
                yield f"columns of {table.full_name}: {', '.join(table.column_names)}"
