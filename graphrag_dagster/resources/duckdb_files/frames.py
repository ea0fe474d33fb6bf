"""Rows of a query as a frame."""

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError

#: Rows that are fetched at once. DuckDB reserves room for as many, a gigabyte for a million vectors.
_AT_ONCE = 16_384


def frame_of(result: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Return the rows of a query that was sent, in their order.

    Raises:
        WarehouseError: they are none of a frame.
        duckdb.Error: they cannot be read.
    """
    frame = pl.from_arrow(result.to_arrow_table(_AT_ONCE))
    if not isinstance(frame, pl.DataFrame):
        raise WarehouseError("a query gave no rows")
    return frame
