"""Rows that are written, batch by batch, and graphs of them: kinds of nodes and of edges."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from graphrag_dagster.apps.interchange.exporting.export_folder import ExportWriter
from graphrag_dagster.kernel.common.printable import FORMULA_SIGNS
from graphrag_dagster.kernel.common.progress import stage

#: Rows that are held in memory at once.
AT_ONCE = 50_000


@dataclass(frozen=True)
class RowBatches:
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


def rebatch(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the same rows, :data:`AT_ONCE` at a time: what is written must not depend on who read it."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= AT_ONCE:
            table = pa.Table.from_batches(held, schema)
            yield _one_batch(table.slice(0, AT_ONCE))
            held = table.slice(AT_ONCE).to_batches()
            count -= AT_ONCE
    if count:
        yield _one_batch(pa.Table.from_batches(held, schema))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0]


def json_text(name: str) -> pl.Expr:
    """Return a column, such as one of lists, as texts of JSON; null stays null."""
    # Only objects have a form as JSON there: what is around the value goes again.
    whole = pl.struct(pl.col(name).alias("x")).struct.json_encode()
    return pl.when(pl.col(name).is_not_null()).then(whole.str.slice(len('{"x":')).str.head(-1))


def write_csv_file(place: Path, rows: RowBatches, made: ExportWriter) -> int:
    """Write rows with the names of their columns; returns their number. Lists are written as JSON.

    Args:
        place: the file.
        rows: what is written.
        made: is told of cells that begin as formulas do, and says whether each gets an apostrophe before it.
    """
    count = 0
    with stage(f"Writing {place.name}") as running, place.open("wb") as file:
        header = pl.DataFrame([rows.schema.names], orient="row")
        guard_formulas(header, made).write_csv(file, include_header=False)
        for frame in rows.frames():
            lists = [name for name, type_ in frame.schema.items() if isinstance(type_, pl.List)]
            told = frame.with_columns(json_text(name).alias(name) for name in lists)
            guard_formulas(told, made).write_csv(file, include_header=False)
            count += frame.height
            running.advance(frame.height)
    return count


def guard_formulas(frame: pl.DataFrame, made: ExportWriter) -> pl.DataFrame:
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


def write_parquet(place: Path, rows: RowBatches, schema: pa.Schema | None = None) -> int:
    """Write rows to a Parquet file; returns their number.

    Args:
        place: the file.
        rows: what is written.
        schema: columns and types as they are to be written; default: those of the rows.
    """
    wanted, count = schema or rows.schema, 0
    with stage(f"Writing {place.name}") as running, pq.ParquetWriter(place, wanted) as writer:
        for batch in rows.read():
            table = pa.table([_cast(batch.column(one.name), one.type) for one in wanted], schema=wanted)
            writer.write_table(table, row_group_size=table.num_rows)
            count += batch.num_rows
            running.advance(batch.num_rows)
    return count


def _cast(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    # Nothing but nulls can be cast to nulls.
    return pa.nulls(len(values)) if pa.types.is_null(wanted) else values.cast(wanted)


def column_types(schema: pa.Schema) -> dict[str, str]:
    """Return name → type of columns, as a manifest tells them."""
    return {column.name: str(column.type) for column in schema}


#: Columns that say which node or edge a row is; all others are its properties, whatever they are called.
ID, SOURCE, TARGET, RELATION = ":id", ":source", ":target", ":relation"
SAME, LABELS = ":same", ":labels"
RESERVED = (ID, SOURCE, TARGET, RELATION, SAME, LABELS)
STATED = "STATED"


@dataclass(frozen=True)
class Nodes:
    """The nodes of a kind.

    Attributes:
        kind: such as ``Entity``.
        rows: :data:`ID`, unique among the kind, and properties; there may be :data:`SAME`, the IRI that it
            has elsewhere, and :data:`LABELS`, a list of what it is labelled with.
    """

    kind: str
    rows: RowBatches

    @property
    def properties(self) -> Sequence[pa.Field]:
        """The columns that are properties."""
        return _properties(self.rows)


@dataclass(frozen=True)
class Edges:
    """The edges of a kind.

    Attributes:
        kind: such as ``PART_OF``; :data:`STATED` of statements, of which each has a relation of its own.
        source: kind of the nodes where they begin.
        target: kind of the nodes to which they lead.
        rows: :data:`SOURCE` and :data:`TARGET`, ids of nodes; of statements also :data:`ID`,
            :data:`RELATION`, which is never blank, and properties.
        named: whether the ids of statements are their own; else they only tell rows apart.
        directed: whether edges are that do not say, by a property of this name.
    """

    kind: str
    source: str
    target: str
    rows: RowBatches
    named: bool = True
    directed: bool = True

    @property
    def are_statements(self) -> bool:
        """Whether these are statements."""
        return self.kind == STATED

    @property
    def properties(self) -> Sequence[pa.Field]:
        """The columns that are properties."""
        return _properties(self.rows)


@dataclass(frozen=True)
class ExportGraph:
    """A graph: its nodes, then its edges."""

    nodes: Sequence[Nodes]
    edges: Sequence[Edges]


def _properties(rows: RowBatches) -> Sequence[pa.Field]:
    return [one for one in rows.schema if one.name not in RESERVED]
