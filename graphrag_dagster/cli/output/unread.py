"""Files of a corpus that were not read, or only in part, and why."""

from typing import Any

import polars as pl
from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.output.console import OUT
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.documents.unread import files_told, not_read, read_in_part


def unread_rows(files: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The files that were not read and those read in part, for JSON, by the keys they have there."""
    return {
        "files_not_read": not_read(files).to_dicts(),
        "files_read_in_part": read_in_part(files).to_dicts(),
    }


def name_unread(name: str, files: pl.DataFrame, most: int = 10) -> None:
    """Say which files were not read, which in part, and how to see all where that takes too many lines."""
    lines, left = files_told(files, most)
    for line in lines:
        OUT.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)
    if left:
        command = f"graphrag-dagster show {escape(name)} --files"
        OUT.print(f"and {counted(left, 'more file', 'more files')}; all of them: {command}", soft_wrap=True)


def print_files(files: pl.DataFrame) -> None:
    """List every file with what became of it."""
    table = RichTable(title="files", title_justify="left")
    table.add_column("file", overflow="fold")
    table.add_column("fate")
    table.add_column("documents", justify="right")
    table.add_column("reason", overflow="fold", ratio=1)
    for path, status, incomplete, documents, reason in files.select(
        "path", "status", "incomplete", "documents", "reason"
    ).iter_rows():
        style = {"read": None, "ignored": "dim", "duplicate": "dim"}.get(status, "yellow")
        fate = "read in part" if incomplete else status
        table.add_row(
            escape(path),
            fate,
            f"{documents:,}",
            escape(reason or ""),
            style="yellow" if incomplete else style,
        )
    OUT.print(table)


#: How an outcome is told, in this order.
_TOLD = {
    "read": "read",
    "repaired": "read after a repair",
    "dangling": "naming what the graph does not declare",
    "duplicate": "repeated",
    "loop": "leading to where they begin",
    "malformed": "put aside",
}
#: Of those that were put aside, what is told of their files says why.
_REASONED = ("repaired", "dangling")
_MOST_REASONS = 5


def print_accounted(account: pl.DataFrame) -> None:
    """Say how many rows the files have, and what became of them; with reasons where a part was odd."""
    if account.is_empty():
        return
    counts = dict(account.group_by("outcome").agg(pl.sum("rows")).iter_rows())
    parts = " + ".join(f"{counts[one]:,} {_TOLD[one]}" for one in _TOLD if counts.get(one))
    OUT.print(f"{counted(sum(counts.values()), 'row')} of graphs: {parts}", soft_wrap=True, markup=False)
    odd = account.filter(pl.col("outcome").is_in(_REASONED)).sort(
        pl.col("outcome").replace_strict(_REASONED, range(len(_REASONED))), "path", "record"
    )
    for path, outcome, rows, first, reason in (
        odd.select("path", "outcome", "rows", "first_row", "reason").head(_MOST_REASONS).iter_rows()
    ):
        others = f" and {rows - 1:,} more" if rows > 1 else ""
        OUT.print(
            f"  [yellow]{escape(path)}[/] row {first:,}{others}, {_TOLD[outcome]}: {escape(reason or '')}",
            soft_wrap=True,
        )
    if odd.height > _MOST_REASONS:
        OUT.print(f"  and {odd.height - _MOST_REASONS:,} more kinds; all of them: table imports.account")
