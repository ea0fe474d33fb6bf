"""``graphrag-dagster sql``."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text

from graphrag_dagster.cli.console import OUT
from graphrag_dagster.cli.options import Csv, FormulaSafe, Name
from graphrag_dagster.cli.result import Part, Result
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.atomic_files import replacing
from graphrag_dagster.kernel.common.printable import FORMULA_SIGNS, plural
from graphrag_dagster.kernel.storage.sql_sandbox import QueryLimits, ResultRows, run_query
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_MOST_ROWS = 100
_MOST_LINES = 2000
_LONGEST_CELL = 1000
#: Columns narrower than this are no longer read as a table.
_NARROWEST = 6


def run_sql(
    name: Name,
    query: Annotated[str, typer.Argument(help="One select statement.")],
    csv: Csv = None,
    formula_safe: FormulaSafe = False,
    seconds: Annotated[float, typer.Option(min=0.1, max=86_400, help="Time limit of the query.")] = 60,
    memory_mb: Annotated[int, typer.Option(min=50, max=1_000_000, help="Memory limit of the query.")] = 1000,
) -> Result:
    """Run one ``select``; its rows are shown, or written to a CSV file.

    Raises:
        QuestionError: it is not one statement that only reads, DuckDB refuses it, or it reaches a limit.
        WarehouseError: the corpus has not been indexed.
    """
    warehouse, limits = Warehouse(), QueryLimits(seconds, memory_mb)
    if csv:
        with run_query(warehouse, name, query, limits) as found:
            shown = write_csv(csv, found, formula_safe=formula_safe)
        return Result({"file": csv}, shown)

    def objects() -> list[dict[str, Any]]:
        with run_query(warehouse, name, query, limits) as found:
            within = _rows_within_limit(found.rows, limits)
            return [dict(zip(found.columns, row, strict=True)) for row in within]

    def first_rows() -> Iterator[Part]:
        # One more tells that there are more.
        rows, characters = _MOST_ROWS + 1, _LONGEST_CELL + 1
        with run_query(warehouse, name, query, limits, most_rows=rows, most_characters=characters) as found:
            yield from row_parts(found)

    return Result(objects, first_rows())


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


def write_csv(target: Path, found: ResultRows, *, formula_safe: bool) -> list[str | Text]:
    """Write rows to a file that takes its place only when it is whole; return how many there are, in words.

    Raises:
        OSError: it cannot be written.
    """
    suspicious = count = 0
    with replacing(target) as file:
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
    shown: list[str | Text] = [f"{plural(count, 'row')} written to {target}"]
    if suspicious:
        mend = "each got a quote before it" if formula_safe else "use --formula-safe for a spreadsheet"
        shown.append(Text(f"{suspicious:,} cells begin as formulas do: {mend}", "yellow"))
    return shown


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


def row_parts(found: ResultRows) -> Iterator[Part]:
    """Yield the first rows as a table, or where there are many columns a line a value."""
    rows = [list(map(_text, row)) for row in islice(found.rows, _MOST_ROWS + 1)]
    more = len(rows) > _MOST_ROWS
    del rows[_MOST_ROWS:]
    if len(found.columns) * _NARROWEST > OUT.width:
        more = more or len(rows) * len(found.columns) > _MOST_LINES
        yield from _vertical(found.columns, rows)
    else:
        table = RichTable()
        for column, number in zip(found.columns, found.numeric, strict=True):
            table.add_column(Text(column), justify="right" if number else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(_shorten(cell)) for cell in row))
        yield table
    if more:
        yield "there is more; --json or --csv FILE gives all"


def _vertical(columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Iterator[str | Text]:
    """Yield rows with more columns than a table can have, a line a value, the first lines of all."""
    left = _MOST_LINES
    for number, row in enumerate(rows, start=1):
        if left <= 0:
            return
        yield Text(f"row {number:,}", "bold")
        for column, cell in list(zip(columns, row, strict=True))[:left]:
            yield f"  {column}: {_shorten(cell)}"
        left -= len(columns)


def _shorten(cell: str | None) -> str:
    if cell is None:
        return ""
    return cell if len(cell) <= _LONGEST_CELL else cell[:_LONGEST_CELL] + "…"
