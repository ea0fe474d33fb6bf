"""Data versions: what Dagster tells by that a table has changed."""

import hashlib
import io

import polars as pl
from dagster import DataVersion

from graphrag_dagster.tables import VECTOR, Table

_HASHED_ROWS = 500


def data_version(table: Table, frame: pl.DataFrame) -> DataVersion:
    """Hash of a frame's content: the same for the same rows, whatever the order of rows and columns."""
    vectors = [column.name for column in table.columns if column.type == VECTOR]
    names = sorted(name for name in frame.columns if name not in vectors)
    digest = hashlib.sha256(repr(names).encode())
    if not frame.is_empty():
        _add_rows(digest, table, frame, names, vectors)
    return DataVersion(digest.hexdigest()[:32])


def _add_rows(
    digest: "hashlib._Hash", table: Table, frame: pl.DataFrame, names: list[str], vectors: list[str]
) -> None:
    content = frame.sort([key for key in table.key if key in frame.columns])
    # In slices: the lines of a whole table take more memory than the table.
    for rows in content.select(names).iter_slices(_HASHED_ROWS):
        lines = io.BytesIO()
        rows.write_ndjson(lines)
        digest.update(lines.getbuffer())
    for vector in vectors:
        if vector in frame.columns:
            for rows in content.select(vector).iter_slices(_HASHED_ROWS):
                digest.update(rows[vector].explode().to_numpy().tobytes())
