"""Tables on the value of context nodes."""

from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.inference.numbers import NONE
from graphrag_dagster.apps.evaluation.report.content import ReportData
from graphrag_dagster.apps.evaluation.report.tables import BOUNDS, Cell, TableView, table
from graphrag_dagster.systems.context_leiden.index.metrics.summary import (
    SHOWN,
    TESTED,
    in_the_papers_form,
    verdict,
)
from graphrag_dagster.systems.context_leiden.index.study import AS_SET

Row = dict[str, Any]
_ASIDE = ("own set", "can fall", "size-normalised")
#: What tells most stands first.
_COLUMNS = (*(name for name in SHOWN if name not in _ASIDE), *TESTED, *_ASIDE)


def context_verdict(data: ReportData) -> str:
    """Return whether the context nodes are better than chance; blank where nothing was measured."""
    rows = _rows(data)
    return "" if rows is None else verdict(rows, AS_SET)


def context_table(data: ReportData) -> TableView | None:
    """Return the measures of the index as it is, level by level."""
    return _table(
        data,
        pl.col("variant") == AS_SET,
        "Context nodes beside Leiden's and beside random ones: mean similarity to other communities, and the "
        f"share of the five most similar nodes that share a community; differences with their {BOUNDS}",
        "Level",
    )


def context_variants_table(data: ReportData) -> TableView | None:
    """Return the measures under other settings and on thinner graphs, level by level."""
    return _table(data, pl.col("variant") != AS_SET, "The same under other settings", "Variant and level")


def _rows(data: ReportData) -> pl.DataFrame | None:
    made = data.context_metrics
    return None if made is None or made.is_empty() else made


def _table(data: ReportData, which: pl.Expr, caption: str, first: str) -> TableView | None:
    rows = _rows(data)
    if rows is None:
        return None
    made = in_the_papers_form(rows.filter(which)).iter_rows(named=True)
    header = (first, "communities", "taken", *_COLUMNS)
    return table(caption, header, [_cells(row) for row in made], folded="Variant" in first)


def _cells(row: Row) -> list[Cell]:
    name = f"C{row['level']}"
    return [
        Cell(name) if row["variant"] == AS_SET else Cell(row["variant"], (name,)),
        Cell(f"{row['communities']:,}"),
        Cell(f"{row['taken']:,}"),
        *(_tested(row, column) if column in TESTED else Cell(_number(row[column])) for column in _COLUMNS),
    ]


def _tested(row: Row, name: str) -> Cell:
    value, low, high = (row[f"{name}{end}"] for end in ("", " low", " high"))
    if value is None or low is None:
        return Cell(_number(value))
    tone = "good" if low > 0 else "bad" if high < 0 else "even"
    return Cell(f"{value:+.3f}", (f"{low:+.3f} to {high:+.3f}",), tone)


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
