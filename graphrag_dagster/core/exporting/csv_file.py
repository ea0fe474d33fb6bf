"""CSV files, written by batches."""

from pathlib import Path

import polars as pl

from graphrag_dagster.core.exporting.rows import Rows, json_text
from graphrag_dagster.core.progress import stage


def write_csv_file(place: Path, rows: Rows) -> int:
    """Write rows with the names of their columns; returns their number. Lists are written as JSON."""
    count = 0
    with stage(f"Writing {place.name}") as running, place.open("wb") as file:
        header = pl.DataFrame([rows.schema.names], orient="row")
        header.write_csv(file, include_header=False)
        for frame in rows.frames():
            lists = [name for name, type_ in frame.schema.items() if isinstance(type_, pl.List)]
            told = frame.with_columns(json_text(name).alias(name) for name in lists)
            told.write_csv(file, include_header=False)
            count += frame.height
            running.advance(frame.height)
    return count
