"""What is shown of results: counts, links and places, no text of a corpus."""

from pathlib import Path

import polars as pl


class Url(str):
    """An address displayed as a link."""


class FilePath(str):
    """The path of a file."""


def stored_at(file: Path) -> dict[str, str]:
    """Return the storage location of a corpus's data as asset metadata."""
    return {"dagster/uri": file.resolve().as_uri()}


def counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """Return the frequency of each value of the column, sorted by value."""
    return dict(frame.group_by(column).len().sort(column).iter_rows())
