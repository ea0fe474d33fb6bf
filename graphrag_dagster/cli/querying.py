"""``graphrag-dagster sql``."""

from pathlib import Path

import duckdb
import polars as pl
from rich.table import Table as RichTable

from graphrag_dagster.cli.console import OUT, print_json
from graphrag_dagster.core.errors import QuestionError
from graphrag_dagster.resources.published import reading
from graphrag_dagster.resources.warehouse import Warehouse

_SHUT_IN = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "lock_configuration": True,
}
_ALLOWED = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
_MOST_ROWS = 100


def run_sql(name: str, query: str, *, csv: Path | None, as_json: bool) -> None:
    """Run one ``select`` and print its rows, or write them to a CSV file.

    Raises:
        QuestionError: it is not one statement that only reads, or DuckDB refuses it.
        WarehouseError: the corpus has not been indexed.
    """
    frame = select(Warehouse(), name, query)
    if csv:
        frame.write_csv(csv)
        OUT.print(f"{frame.height:,} rows written to {csv}", soft_wrap=True)
    elif as_json:
        print_json(frame.to_dicts())
    else:
        _print(frame)


def select(warehouse: Warehouse, name: str, query: str) -> pl.DataFrame:
    """Return the rows of one reading statement over the current snapshot; see :func:`run_sql`."""
    with reading(warehouse, name, _SHUT_IN) as (reader, _):
        connection = reader.connection
        try:
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type not in _ALLOWED:
                raise QuestionError("give one select statement; nothing else can be run here")
            frame = pl.from_arrow(connection.execute(statements[0]).to_arrow_table())
        except duckdb.Error as error:
            raise QuestionError(f"the query failed: {error}") from error
    if not isinstance(frame, pl.DataFrame):
        raise QuestionError("the query gives no rows")
    return frame


def _print(frame: pl.DataFrame) -> None:
    table = RichTable()
    for column in frame.columns:
        table.add_column(
            column, justify="right" if frame.schema[column].is_numeric() else "left", overflow="fold"
        )
    for row in frame.head(_MOST_ROWS).iter_rows():
        table.add_row(*(_escaped(value) for value in row))
    OUT.print(table)
    if frame.height > _MOST_ROWS:
        OUT.print(f"{frame.height - _MOST_ROWS:,} more rows; use --json or --csv FILE for all")


def _escaped(value: object) -> str:
    from rich.markup import escape

    return "" if value is None else escape(str(value))
