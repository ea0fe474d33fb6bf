"""Display of results: rows as Markdown, counts, links."""

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from graphrag_dagster.kernel.common.printable import printable

_CELL = 60


class Markdown(str):
    """A text displayed as Markdown."""


class Url(str):
    """An address displayed as a link."""


class FilePath(str):
    """The path of a file."""


def stored_at(file: Path) -> dict[str, str]:
    """Return the storage location of a corpus's data as asset metadata."""
    return {"dagster/uri": file.resolve().as_uri()}


def rows_of(frame: pl.DataFrame) -> Markdown:
    """Return a frame as a Markdown table with shortened cells."""
    lines = [_row(frame.columns), _row("---" for _ in frame.columns)]
    lines += [_row(_cell(value) for value in row) for row in frame.iter_rows()]
    return Markdown("\n".join(lines))


def inline_code(text: str) -> str:
    """Return words of documents as inline code for a table, so that no link, image or HTML is rendered."""
    shown = printable(text).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}" if shown.strip() else ""


def counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """Return the frequency of each value of the column, sorted by value."""
    return dict(frame.group_by(column).len().sort(column).iter_rows())


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    cut = text if len(text) <= _CELL else text[: _CELL - 1] + "…"
    return cut if isinstance(value, bool | int | float) else inline_code(cut)
