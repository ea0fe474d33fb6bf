"""Parquet tables."""

import io

from graphrag_dagster.kernel.documents.files.records import Reading, Source, UnreadableError, error_line
from graphrag_dagster.kernel.documents.readers.data.rows import reading_of_rows


def read_parquet(data: bytes, source: Source) -> Reading:
    """Read one document per row.

    Raises:
        UnreadableError: damaged, without a column for the text, or beyond a limit.
    """
    import polars as pl

    limits = source.limits
    try:
        frame = pl.read_parquet(io.BytesIO(data), n_rows=limits.max_documents + 1)
    except MemoryError:
        raise
    # A panic of the native library is no Exception.
    except (Exception, pl.exceptions.PanicException) as error:
        raise UnreadableError(f"not a readable Parquet file: {error_line(error)}") from error
    if frame.height > limits.max_documents:
        raise UnreadableError(limits.beyond("max_documents", "rows"))
    return reading_of_rows(enumerate(frame.iter_rows(named=True)), frame.columns, source)
