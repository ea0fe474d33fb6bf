"""What must hold of the rows of report contexts."""

from collections.abc import Mapping

import polars as pl

_COUNTED = {"report": "reports", "entity": "entities", "claim": "claims", "relationship": "relationships"}


def check_context_rows(
    contexts: pl.DataFrame, context_rows: pl.DataFrame, records: Mapping[str, pl.Series]
) -> list[str]:
    """Return what is wrong: rows that are not as many as a context counts, or that show what there is not.

    Args:
        contexts: rows of ``reports.report_contexts``.
        context_rows: rows of ``reports.report_context_rows``.
        records: the ids that there are, by kind of row.
    """
    found = context_rows.group_by("report_id").agg(
        (pl.col("kind") == kind).sum().alias(f"{name}_found") for kind, name in _COUNTED.items()
    )
    counted = contexts.join(found, on="report_id", how="left").with_columns(
        pl.col(f"{name}_found").fill_null(0) for name in _COUNTED.values()
    )
    problems = []
    for kind, name in _COUNTED.items():
        wrong = counted.filter(pl.col(name) != pl.col(f"{name}_found"))
        problems += [
            f"{report_id}: {found} {kind} rows, its context has {there}"
            for report_id, there, found in wrong.select("report_id", name, f"{name}_found").iter_rows()
        ]
        lost = context_rows.filter(
            pl.col("kind") == kind, ~pl.col("record_id").is_in(records[kind].implode())
        )
        problems += [
            f"{report_id}: its row {position} shows the {kind} {record_id}, which there is not"
            for report_id, position, record_id in lost.select(
                "report_id", "position", "record_id"
            ).iter_rows()
        ]
    return problems
