"""What became of the rows of graphs that come from elsewhere."""

import polars as pl
from rich.markup import escape

from graphrag_dagster.cli.output.console import OUT
from graphrag_dagster.core.wording import counted

#: How an outcome is told, in this order.
_TOLD = {
    "read": "read",
    "repaired": "read after a part was mended",
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
