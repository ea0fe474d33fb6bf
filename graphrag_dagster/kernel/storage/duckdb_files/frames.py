"""Query results as frames."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError

#: Rows that are fetched at once. DuckDB reserves room for as many, a gigabyte for a million vectors.
_AT_ONCE = 16_384


def frame_of(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Sequence[object] | Mapping[str, object] | None = None,
) -> pl.DataFrame:
    """Return the rows of a trusted query, in their order.

    Raises:
        WarehouseError: the query gives none, as a statement does.
        duckdb.Error: it cannot be answered.
    """
    # As a relation: of what `execute` returns, DuckDB 2 copies the rows, and warns of it.
    rows = connection.sql(query, params=parameters or None)
    frame = None if rows is None else pl.from_arrow(rows.to_arrow_table(_AT_ONCE))
    if not isinstance(frame, pl.DataFrame):
        raise WarehouseError("a query returned no result")
    return frame


def first_row(result: duckdb.DuckDBPyConnection) -> tuple[Any, ...] | None:
    """Return the first of the few rows of a query that was sent; None where there is none.

    All are fetched: DuckDB 2 answers no relation over a connection that has a result with rows left.

    Raises:
        duckdb.Error: it cannot be answered.
    """
    return next(iter(result.fetchall()), None)
