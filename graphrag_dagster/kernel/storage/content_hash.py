"""Hashes of tables that are the same in every release of DuckDB, unlike its own ``hash``."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from graphrag_dagster.kernel.tables.table_declaration import Table

if TYPE_CHECKING:
    from hashlib import _Hash

_ROWS_AT_ONCE = 16_384
_Parts = defaultdict[str, "_Hash"]


def content_hash(
    connection: duckdb.DuckDBPyConnection, table: Table, columns: Sequence[str], rows: str
) -> tuple[int, str]:
    """Return the number of rows and a hash of their content, whatever order they are stored in.

    It is the SHA-256 of those of all columns: numbers as little-endian bytes, texts as UTF-8 after their
    lengths, lists as their lengths and elements, in order of the table's key.

    Args:
        connection: the database.
        table: the table.
        columns: those of its columns that there are.
        rows: a trusted query of these columns.

    Raises:
        duckdb.Error: the query fails.
    """
    keys = [name for name in table.key if name in columns]
    if len(keys) < len(table.key) or not _are_in_order(connection, table, rows):
        order = ", ".join(f'"{name}" nulls first' for name in keys or columns)
        rows = f"from ({rows}) order by {order}"
    return _hashed(connection.sql(rows).to_arrow_reader(_ROWS_AT_ONCE), columns)


def frame_hash(table: Table, frame: pl.DataFrame) -> str:
    """Return the hash of a frame's content, as :func:`content_hash` does of rows that are stored."""
    names = [name for name in table.column_names if name in frame.columns]
    keys = [key for key in table.key if key in names]
    ordered = frame if len(keys) == len(table.key) and table.in_order(frame) else frame.sort(keys)
    plain = ordered.select(names).with_columns(pl.col(pl.Categorical).cast(pl.String))
    return _hashed(plain.to_arrow().to_batches(_ROWS_AT_ONCE), names)[1]


def _are_in_order(connection: duckdb.DuckDBPyConnection, table: Table, rows: str) -> bool:
    keys, last = ", ".join(f'"{name}"' for name in table.key), None
    for batch in connection.sql(f"select {keys} from ({rows})").to_arrow_reader(_ROWS_AT_ONCE):
        here = pl.DataFrame(batch)
        if not table.in_order(here if last is None else pl.concat([last, here])):
            return False
        last = here.tail(1)
    return True


def _hashed(batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> tuple[int, str]:
    number, parts = 0, _Parts(hashlib.sha256)
    for batch in batches:
        number += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            _add(parts, name, column)
    told = [(name, parts[name].hexdigest()) for name in sorted(parts)] if number else []
    return number, hashlib.sha256(repr((tuple(columns), number, told)).encode()).hexdigest()


def _add(parts: _Parts, name: str, column: pa.Array) -> None:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        texts = column.cast(pa.large_binary())
        _add_numbers(parts, f"{name} lengths", pc.binary_length(texts).fill_null(-1), "<i8")
        said = texts.drop_null()
        _, offsets, content = said.buffers()
        bounds = np.frombuffer(offsets, "<i8")[said.offset :] if len(said) else (0, 0)
        parts[f"{name} texts"].update(memoryview(content or b"")[bounds[0] : bounds[len(said)]])
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        _add_numbers(parts, f"{name} lengths", pc.list_value_length(column).fill_null(-1), "<i8")
        _add(parts, f"{name}[]", column.flatten())
    else:
        _add_numbers(parts, f"{name} present", column.is_valid(), "<i1")
        if pa.types.is_fixed_size_list(kind):
            _add(parts, f"{name}[]", column.flatten())
        elif pa.types.is_struct(kind):
            for index, field in enumerate(kind):
                _add(parts, f"{name}.{field.name}", pc.struct_field(column, [index]))
        elif pa.types.is_date(kind):
            _add_numbers(parts, name, column.cast(pa.int32()).fill_null(0), "<i8")
        elif pa.types.is_boolean(kind):
            _add_numbers(parts, name, column.cast(pa.int8()).fill_null(0), "<i1")
        elif pa.types.is_floating(kind):
            _add_numbers(parts, name, column.fill_null(0), "<f8" if kind == pa.float64() else "<f4")
        else:
            _add_numbers(parts, name, column.fill_null(0), "<i8")


def _add_numbers(parts: _Parts, name: str, column: pa.Array, kind: str) -> None:
    numbers = column.to_numpy(zero_copy_only=False).astype(kind, copy=False)
    parts[name].update(np.ascontiguousarray(numbers).data)
