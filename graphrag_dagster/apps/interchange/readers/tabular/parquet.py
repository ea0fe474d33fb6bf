"""Parquet files of any size, some rows at a time."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import polars as pl

from graphrag_dagster.apps.interchange.readers.batches import ROWS
from graphrag_dagster.apps.interchange.readers.rows import Rows
from graphrag_dagster.apps.interchange.readers.tabular.cells import to_json
from graphrag_dagster.kernel.documents.files.records import UnreadableError, error_line

#: Rows that are unpacked at once, and bytes above which no more are added: a small file may hold much.
_STEP, _MOST_BYTES = 2_048, 64_000_000


def parquet_schema(stream: BinaryIO) -> dict[str, str]:
    """Return the columns of a file with the names of their types.

    Raises:
        UnreadableError: not a Parquet file, or damaged.
    """
    with _reading():
        return {field.name: str(field.type) for field in _opened(stream).schema_arrow}


def is_vector(kind: str) -> bool:
    """Whether a column of this type holds vectors."""
    return "list<" in kind and kind.rstrip(">[]0123456789").endswith(("float", "double"))


def parquet_rows(stream: BinaryIO, columns: Sequence[str] | None = None) -> Iterator[Rows]:
    """Yield the rows, at most 50,000 at a time, with these columns or all.

    Raises:
        UnreadableError: not a Parquet file, or damaged.
    """
    number = 1
    for table in _tables(stream, columns):
        with _reading():
            frame = pl.DataFrame(pl.from_arrow(table))
        numbers = pl.int_range(number, number + frame.height, dtype=pl.Int64, eager=True)
        yield Rows(numbers, frame.to_dict(), functools.partial(_raw, frame))
        number += frame.height


def _raw(frame: pl.DataFrame, place: int) -> str:
    return to_json(frame.row(place, named=True))


def _tables(stream: BinaryIO, columns: Sequence[str] | None) -> Iterator[Any]:
    import pyarrow as pa

    with _reading():
        pending: list[Any] = []
        wanted = None if columns is None else list(columns)
        for batch in _opened(stream).iter_batches(batch_size=_STEP, columns=wanted):
            pending.append(batch)
            full = sum(one.num_rows for one in pending) > ROWS - _STEP
            if full or sum(one.nbytes for one in pending) > _MOST_BYTES:
                yield pa.Table.from_batches(pending)
                pending = []
        if pending:
            yield pa.Table.from_batches(pending)


@contextmanager
def _reading() -> Iterator[None]:
    """Say of whatever the libraries raise over a damaged file that it cannot be read.

    Bytes of a damaged file lead them to any error: of their own, of Python's types and codecs, or a panic of
    native code, which is no Exception. Only running out of memory says nothing of the file.
    """
    try:
        yield
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        raise UnreadableError(f"not a readable Parquet file: {error_line(error)}") from error


def _opened(stream: BinaryIO) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(stream)
