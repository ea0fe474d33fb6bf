"""Rows that are written: a schema, and batches that come one at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

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
