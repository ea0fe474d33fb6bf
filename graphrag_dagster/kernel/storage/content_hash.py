"""Hashes of tables that are the same in every release of DuckDB, unlike its own ``hash``."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from graphrag_dagster.kernel.tables import Table

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
    keys = [name for name in table.key if name in columns] or columns
    counted = _hashed(connection, table, rows, keys, check=len(keys) == len(table.key))
    if counted is None:
        order = ", ".join(f'"{key}" nulls first' for key in keys)
        counted = _hashed(connection, table, f"from ({rows}) order by {order}", keys, check=False)
    number, parts = counted or (0, _Parts(hashlib.sha256))
    told = [(name, parts[name].hexdigest()) for name in sorted(parts)] if number else []
    return number, hashlib.sha256(repr((tuple(columns), number, told)).encode()).hexdigest()


def _hashed(
    connection: duckdb.DuckDBPyConnection, table: Table, rows: str, keys: Sequence[str], *, check: bool
) -> tuple[int, _Parts] | None:
    """Return the number of rows and the hashes of their parts; None if they are checked and in no order."""
    number, parts, last = 0, _Parts(hashlib.sha256), pl.DataFrame()
    for batch in connection.sql(rows).to_arrow_reader(_ROWS_AT_ONCE):
        if check:
            here = pl.DataFrame(batch.select(keys))
            if not table.in_order(pl.concat([last, here]) if number else here):
                return None
            last = here.tail(1)
        number += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            _add(parts, name, column)
    return number, parts


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
