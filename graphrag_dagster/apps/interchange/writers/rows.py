"""Rows that are written: a schema, and batches that come one at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from graphrag_dagster.apps.interchange.writers.folder import Making
from graphrag_dagster.kernel.common.printable import FORMULA_SIGNS
from graphrag_dagster.kernel.common.progress import stage

#: Rows that are held in memory at once.
AT_ONCE = 50_000


@dataclass(frozen=True)
class Rows:
    """Rows in their order.

    Attributes:
        schema: their columns.
        read: begins at the first row; every batch but the last has :data:`AT_ONCE` rows.
    """

    schema: pa.Schema
    read: Callable[[], Iterator[pa.RecordBatch]]

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the rows as frames, as many at a time."""
        for batch in self.read():
            frame = pl.from_arrow(batch)
            if isinstance(frame, pl.DataFrame) and frame.height:
                yield frame


def rebatched(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the same rows, :data:`AT_ONCE` at a time: what is written must not depend on who read it."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= AT_ONCE:
            table = pa.Table.from_batches(held, schema)
            yield _one(table.slice(0, AT_ONCE))
            held = table.slice(AT_ONCE).to_batches()
            count -= AT_ONCE
    if count:
        yield _one(pa.Table.from_batches(held, schema))


def _one(table: pa.Table) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0]


def json_text(name: str) -> pl.Expr:
    """Return a column, such as one of lists, as texts of JSON; null stays null."""
    # Only objects have a form as JSON there: what is around the value goes again.
    whole = pl.struct(pl.col(name).alias("x")).struct.json_encode()
    return pl.when(pl.col(name).is_not_null()).then(whole.str.slice(len('{"x":')).str.head(-1))


def write_csv_file(place: Path, rows: Rows, made: Making) -> int:
    """Write rows with the names of their columns; returns their number. Lists are written as JSON.

    Args:
        place: the file.
        rows: what is written.
        made: is told of cells that begin as formulas do, and says whether each gets an apostrophe before it.
    """
    count = 0
    with stage(f"Writing {place.name}") as running, place.open("wb") as file:
        header = pl.DataFrame([rows.schema.names], orient="row")
        told_of_formulas(header, made).write_csv(file, include_header=False)
        for frame in rows.frames():
            lists = [name for name, type_ in frame.schema.items() if isinstance(type_, pl.List)]
            told = frame.with_columns(json_text(name).alias(name) for name in lists)
            told_of_formulas(told, made).write_csv(file, include_header=False)
            count += frame.height
            running.advance(frame.height)
    return count


def told_of_formulas(frame: pl.DataFrame, made: Making) -> pl.DataFrame:
    """Return rows as they are written; cells that a spreadsheet would take for formulas are counted."""
    texts = [name for name, type_ in frame.schema.items() if type_ == pl.String]
    begins = {
        name: pl.any_horizontal(pl.col(name).str.starts_with(one) for one in FORMULA_SIGNS) for name in texts
    }
    if texts:
        found = frame.select(sum(begins[name].sum() for name in texts)).item() or 0
        made.formulas += int(found)
        if found and made.formula_safe:
            return frame.with_columns(
                pl.when(begins[name]).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name)
                for name in texts
            )
    return frame


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
