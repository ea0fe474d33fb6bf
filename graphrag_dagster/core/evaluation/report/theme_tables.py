"""What the judge goes by, as a table: themes, how many reasons speak of them, and one of these."""

import polars as pl

from graphrag_dagster.core.evaluation.inference.measures import measure
from graphrag_dagster.core.evaluation.inference.numbers import share
from graphrag_dagster.core.evaluation.report.content import ReportData, rows_of
from graphrag_dagster.core.evaluation.report.tables import Cell, TableView, table
from graphrag_dagster.core.wording import counted

_QUOTED = 240


def themes_table(data: ReportData) -> TableView | None:
    """Return the themes of each criterion, most reasons first, each with the first reason that has it."""
    rows = sorted(rows_of(data.themes), key=lambda row: (measure(row["criterion"]).order, row["position"]))
    quoted = _quotations(data)
    return table(
        "What the judge's reasons speak of; a reason may speak of several themes, or of none",
        ("Criterion", "theme", "reasons", "share", "when a reason speaks of it"),
        [
            [
                row["criterion"],
                row["theme"],
                f"{row['reasons']:,} of {row['read']:,}",
                share(row["reasons"] / row["read"], 0) if row["read"] else share(None),
                Cell(row["description"], quoted.get(row["theme_id"], ())),
            ]
            for row in rows
        ],
        wordy=True,
    )


def unread(data: ReportData) -> str:
    """Return how many reasons could not be read, as a sentence; '' where all could."""
    lost = 0 if data.theme_reasons is None else data.theme_reasons["problem"].count()
    if not lost:
        return ""
    return (
        f" {counted(lost, 'reason')} could not be read in full for want of a usable reply; the table "
        "evaluation.theme_reasons says why."
    )


def _quotations(data: ReportData) -> dict[str, tuple[str, ...]]:
    """Of each theme a reason that speaks of it, the first by the id of its judgement."""
    if data.theme_reasons is None or data.judgements is None:
        return {}
    found = (
        data.theme_reasons.explode("theme_ids")
        .drop_nulls("theme_ids")
        .join(data.judgements.select("judgement_id", "reason"), on="judgement_id")
        .sort("judgement_id")
        .group_by("theme_ids")
        .agg(pl.col("reason").first())
    )
    return {theme: (f"“{_short(reason)}”",) for theme, reason in found.iter_rows()}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED].rsplit(' ', 1)[0]} …"
