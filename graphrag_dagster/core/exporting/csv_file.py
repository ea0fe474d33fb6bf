"""CSV files, written by batches."""

from pathlib import Path

import polars as pl

from graphrag_dagster.core.exporting.folder import Making
from graphrag_dagster.core.exporting.rows import Rows, json_text
from graphrag_dagster.core.printable import FORMULA_SIGNS
from graphrag_dagster.core.progress import stage


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
