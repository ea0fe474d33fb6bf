"""``graphrag-dagster sql``."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.console import OUT, print_json
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.printable import FORMULA_SIGNS, plural
from graphrag_dagster.kernel.storage.sql_sandbox import QueryLimits, ResultRows, run_query
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_MOST_ROWS = 100
_MOST_LINES = 2000
_LONGEST_CELL = 1000
#: Columns narrower than this are no longer read as a table.
_NARROWEST = 6


def run_sql(
    name: str, query: str, *, csv: Path | None, formula_safe: bool, as_json: bool, limits: QueryLimits
) -> None:
    """Run one ``select`` and print its rows, or write them to a CSV file.

    Raises:
        QuestionError: it is not one statement that only reads, DuckDB refuses it, it reaches a limit, or the
            file cannot be written.
        WarehouseError: the corpus has not been indexed.
    """
    warehouse = Warehouse()
    if csv:
        with run_query(warehouse, name, query, limits) as found:
            write_csv(csv, found, formula_safe=formula_safe)
    elif as_json:
        with run_query(warehouse, name, query, limits) as found:
            within = _rows_within_limit(found.rows, limits)
            print_json([dict(zip(found.columns, row, strict=True)) for row in within])
    else:
        # One more tells that there are more.
        rows, characters = _MOST_ROWS + 1, _LONGEST_CELL + 1
        with run_query(warehouse, name, query, limits, most_rows=rows, most_characters=characters) as found:
            print_rows(found)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _rows_within_limit(rows: Iterator[list[Any]], limits: QueryLimits) -> Iterator[list[Any]]:
    size = 0
    for row in rows:
        size += sum(len(value) if isinstance(value, str) else 32 for value in row)
        if size > limits.megabytes * 1_000_000:
            raise QuestionError(
                f"the result has more than {limits.megabytes:,} MB; ask for less, or write it with --csv FILE"
            )
        yield row


def write_csv(target: Path, found: ResultRows, *, formula_safe: bool) -> None:
    """Write rows to a file that takes its place only when it is whole, and say how many there are.

    Raises:
        QuestionError: it cannot be written.
    """
    suspicious = count = 0
    with _atomic_output(target) as file:
        named = [_is_formula(name) for name in found.columns]
        suspicious += sum(named)
        file.write(_line(_guarded_row(found.columns, named) if formula_safe else found.columns))
        for values in found.rows:
            row = list(map(_text, values))
            count += 1
            formulas = [
                not number and _is_formula(cell) for cell, number in zip(row, found.numeric, strict=True)
            ]
            suspicious += sum(formulas)
            file.write(_line(_guarded_row(row, formulas) if formula_safe else row))
    OUT.say(f"{plural(count, 'row')} written to {escape(str(target))}")
    if suspicious:
        told = "cells begin as formulas do"
        mend = "each got a quote before it" if formula_safe else "use --formula-safe for a spreadsheet"
        OUT.warn(f"{suspicious:,} {told}: {mend}")


def _guarded_row(cells: Sequence[str | None], formulas: Sequence[bool]) -> list[str | None]:
    return [f"'{cell}" if formula else cell for cell, formula in zip(cells, formulas, strict=True)]


def _is_formula(cell: str | None) -> bool:
    return cell is not None and cell.startswith(FORMULA_SIGNS)


def _line(cells: Sequence[str | None]) -> str:
    return ",".join(_cell(cell) for cell in cells) + "\n"


def _cell(cell: str | None) -> str:
    """A cell of CSV: nothing for null, and two quotes for an empty text."""
    if cell is None:
        return ""
    if cell == "" or cell != cell.strip() or any(sign in cell for sign in ',"\n\r'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


@contextmanager
def _atomic_output(target: Path) -> Iterator[IO[str]]:
    """Write a file that takes its place only when it is whole; a pipe or a device is written as it is.

    Raises:
        QuestionError: it cannot be written.
    """
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("w", encoding="utf-8", newline="") as file:
                yield file
            return
        if target.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        making = target.with_name(f".{uuid4().hex}.tmp")
        try:
            with making.open("x", encoding="utf-8", newline="") as file:
                yield file
            making.replace(target)
        finally:
            making.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise QuestionError(f"{target} cannot be written: {why}") from None


def print_rows(found: ResultRows) -> None:
    """Print the first rows as a table, or where there are many columns a line a value."""
    rows = [list(map(_text, row)) for row in islice(found.rows, _MOST_ROWS + 1)]
    more = len(rows) > _MOST_ROWS
    del rows[_MOST_ROWS:]
    if len(found.columns) * _NARROWEST > OUT.width:
        more = not _print_vertically(found.columns, rows) or more
    else:
        OUT.print(_table(found, rows))
    if more:
        OUT.print("there is more; --json or --csv FILE gives all")


def _table(found: ResultRows, rows: Sequence[Sequence[str | None]]) -> RichTable:
    table = RichTable()
    for column, number in zip(found.columns, found.numeric, strict=True):
        table.add_column(escape(column), justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(escape(_shorten(cell)) for cell in row))
    return table


def _print_vertically(columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> bool:
    """Print rows with more columns than a table can have, a line a value; False where some are left out."""
    left = _MOST_LINES
    for number, row in enumerate(rows, start=1):
        if left <= 0:
            return False
        OUT.print(f"row {number:,}", style="bold")
        for column, cell in list(zip(columns, row, strict=True))[:left]:
            OUT.say(f"  {column}: {_shorten(cell)}", markup=False)
        left -= len(columns)
    return left >= 0


def _shorten(cell: str | None) -> str:
    if cell is None:
        return ""
    return cell if len(cell) <= _LONGEST_CELL else cell[:_LONGEST_CELL] + "…"
