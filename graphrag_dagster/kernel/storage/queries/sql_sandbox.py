"""User queries over a corpus's tables: read-only, in a process that is stopped at its limits."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import duckdb

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.catalogue.registry import all_tables
from graphrag_dagster.kernel.documents.files.columns import once_each
from graphrag_dagster.kernel.storage.duckdb_files.duckdb_messages import (
    is_damage,
    missing_column,
    missing_table,
)
from graphrag_dagster.kernel.storage.duckdb_files.frames import first_row
from graphrag_dagster.kernel.storage.published.reading import reading
from graphrag_dagster.kernel.storage.queries.guarded_process import GuardedProcess, QueryLimits
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse

_PROGRAM = Path(__file__).with_name("sql_process.py")
_LONGEST_TOLD = 1500


@dataclass(frozen=True, slots=True)
class Rows:
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
        yield Rows(once_each(columns), numeric, nested, process.rows())


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
