"""Files of a corpus that were not read, and why."""

from typing import Any

import polars as pl
from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.output.console import OUT

#: What became of files that gave nothing, those first that somebody may want to mend.
_FATES = ("failed", "refused", "unsupported", "empty", "ignored")
_MOST_NAMED = 10


def unread(files: pl.DataFrame) -> pl.DataFrame:
    """Path, status and reason of the files that gave nothing; copies of others are not among them."""
    found = files.filter(pl.col("status").is_in(_FATES)).select("path", "status", "reason")
    return found.sort(pl.col("status").replace_strict(_FATES, range(len(_FATES))), "path")


def unread_rows(files: pl.DataFrame) -> list[dict[str, Any]]:
    """As :func:`unread`, for JSON."""
    return unread(files).to_dicts()


def print_unread(files: pl.DataFrame) -> None:
    """List every such file with its reason."""
    rows = unread(files)
    if rows.is_empty():
        return
    table = RichTable(title="files that were not read", title_justify="left")
    table.add_column("file", overflow="fold")
    table.add_column("fate")
    table.add_column("reason", overflow="fold", ratio=1)
    for path, status, reason in rows.rows():
        table.add_row(escape(path), status, escape(reason), style="dim" if status == "ignored" else None)
    OUT.print(table)


def name_unread(name: str, files: pl.DataFrame) -> None:
    """Name the first of such files, but for those that are to be ignored, and say how to see all."""
    rows = unread(files).filter(pl.col("status") != "ignored")
    if rows.is_empty():
        return
    one = rows.height == 1
    OUT.print(f"[yellow]{rows.height:,} {'file was' if one else 'files were'} not read:[/]")
    for path, status, reason in rows.head(_MOST_NAMED).rows():
        OUT.print(f"  {escape(path)}: {status}, {escape(reason)}", soft_wrap=True)
    more = rows.height - _MOST_NAMED
    if more > 0:
        OUT.print(f"  and {more:,} more; all of them: graphrag-dagster show {escape(name)}", soft_wrap=True)
