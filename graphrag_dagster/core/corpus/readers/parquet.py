"""Parquet tables."""

import io

import polars as pl

from graphrag_dagster.core.corpus.readers.rows import reading_of_rows
from graphrag_dagster.core.corpus.records import Reading, Source, UnreadableError


def read_parquet(data: bytes, source: Source) -> Reading:
    """Read one document per row.

    Raises:
        UnreadableError: damaged, or without a column for the text.
    """
    try:
        frame = pl.read_parquet(io.BytesIO(data))
        rows = frame.to_dicts()
    # A panic of the native library is no Exception.
    except (Exception, pl.exceptions.PanicException) as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise UnreadableError(f"not a readable Parquet file: {first_line}") from error
    return reading_of_rows(list(enumerate(rows)), frame.columns, source)
