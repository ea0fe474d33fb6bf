"""Parquet files, written by batches."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from graphrag_dagster.core.exporting.rows import Rows
from graphrag_dagster.core.progress import stage


def write_parquet(place: Path, rows: Rows, schema: pa.Schema | None = None) -> int:
    """Write rows to a Parquet file; returns their number.

    Args:
        place: the file.
        rows: what is written.
        schema: columns and types as they are to be written; default: those of the rows.
    """
    wanted, count = schema or rows.schema, 0
    with stage(f"Writing {place.name}") as running, pq.ParquetWriter(place, wanted) as writer:
        for batch in rows.read():
            table = pa.table([_as(batch.column(one.name), one.type) for one in wanted], schema=wanted)
            writer.write_table(table, row_group_size=table.num_rows)
            count += batch.num_rows
            running.advance(batch.num_rows)
    return count


def _as(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    # Nothing but nulls can be cast to nulls.
    return pa.nulls(len(values)) if pa.types.is_null(wanted) else values.cast(wanted)


def told_columns(schema: pa.Schema) -> dict[str, str]:
    """Return name → type of columns, as a manifest tells them."""
    return {column.name: str(column.type) for column in schema}
