"""Tables behind the results: judge against claims, position bias, metrics, cost."""

from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.inference.measures import measure
from graphrag_dagster.apps.evaluation.inference.numbers import NONE, money, p_value, plain, share
from graphrag_dagster.apps.evaluation.report.content import ReportData, rows_of
from graphrag_dagster.apps.evaluation.report.tables import (
    TESTED,
    Cell,
    TableView,
    table,
    tested_notes,
    tests,
    tone_of,
)

Row = dict[str, Any]


def alignment_table(data: ReportData) -> TableView | None:
    """Return how often the judge and the claims agree."""
    rows = sorted(rows_of(data.alignment), key=lambda row: (measure(row["criterion"]).order, row["measure"]))
    numbers = ("comparisons", "judge_ties", "agree", "disagree", "claim_ties")
    return table(
        "Of the decided comparisons, how often the claims name the same winner",
        (
            "Criterion and measure",
            "pairs",
            "judge ties",
            "agree",
            "disagree",
            "of these claim ties",
            "agreement",
        ),
        [
            [
                Cell(row["criterion"], (measure(row["measure"]).label,)),
                *(Cell(f"{row[one]:,}") for one in numbers),
                Cell(share(row["agreement"], 0)),
            ]
            for row in rows
        ],
    )


def bias_table(data: ReportData) -> TableView | None:
    """Return how often the answer that was shown first won."""
    rows = sorted(
        rows_of(data.position_bias),
        key=lambda row: (row["criterion"] == "all", measure(row["criterion"]).order),
    )
    return table(
        "How often the answer shown first won; a fair judge gives 50 %",
        (
            "Criterion",
            "verdicts",
            "ties",
            "unusable",
            "first wins",
            "95 % interval (Clopper and Pearson)",
            "p against 50 % (exact binomial test)",
        ),
        [
            [
                Cell(row["criterion"]),
                *(Cell(f"{row[one]:,}") for one in ("judgements", "ties", "unusable")),
                Cell(share(row["share"])),
                Cell(_span(row)),
                Cell(p_value(row["p"])),
            ]
            for row in rows
        ],
    )


def _span(row: Row) -> str:
    return NONE if row["ci_low"] is None else f"{share(row['ci_low'], 0)} to {share(row['ci_high'], 0)}"


def cost_table(data: ReportData) -> TableView | None:
    """Return what an answer takes, by search method."""
    found = {row["condition"]: row for row in rows_of(data.condition_costs)}
    base = found[data.baseline]["context_tokens"] if data.baseline in found else None
    rows = []
    for condition in (one for one in data.conditions if one in found):
        row = found[condition]
        times = (f"{row['context_tokens'] / base:.1f} × {data.baseline}",) if base else ()
        rows.append(
            [
                Cell(condition),
                *(Cell(f"{row[one]:,}") for one in ("answers", "refused")),
                Cell(plain(row["context_rows"])),
                Cell(plain(row["context_tokens"]), times if condition != data.baseline else ()),
                *(Cell(plain(row[one])) for one in ("calls", "input_tokens", "output_tokens")),
                Cell(money(row["usd"])),
                Cell(plain(row["seconds"])),
            ]
        )
    header = ("answers", "refused", "rows read", "tokens read", "calls", "tokens sent", "tokens received")
    return table(
        "Cost of an answer: means, for the seconds the median, as if no reply had come from the LLM cache",
        ("Search method", *header, "US dollars", "seconds"),
        rows,
    )


def sizes_table(data: ReportData) -> TableView | None:
    """Return what each condition reads for a question, laid out as the paper's Table 2."""
    rows = rows_of(data.context_sizes)
    spoken = (("units", "{:,}"), ("tokens", "{:,}"), ("percent_of_ts", "{:.1f}"))
    return table(
        "Tokens that the conditions read for one question: reports of C0, C1, …, text units of TS",
        ("", *(row["condition"] for row in rows)),
        [
            [
                Cell("% of TS" if name == "percent_of_ts" else name),
                *(Cell(NONE if row[name] is None else form.format(row[name])) for row in rows),
            ]
            for name, form in spoken
        ]
        if rows
        else [],
    )


def quality_table(data: ReportData) -> TableView | None:
    """Return the means of the quality metrics over the answers that have a value."""
    if data.quality_scores is None or data.answers is None:
        return None
    scored = data.quality_scores.join(data.answers.select("answer_id", "method"), on="answer_id")
    means = {
        (family, metric, method): (mean, has, of)
        for family, metric, method, mean, has, of in scored.group_by("family", "metric", "method")
        .agg(pl.col("value").mean(), pl.col("value").count().alias("has"), pl.len().alias("of"))
        .iter_rows()
    }
    found = {(one.measure, one.condition): one for one in tests(data)}
    rows = []
    for family, metric in sorted({key[:2] for key in means}):
        cells = [Cell(f"{family} {metric}".replace("_", " "))]
        for condition in data.conditions:
            mean, has, of = means.get((family, metric, condition), (None, 0, 0))
            test = found.get((f"{family} {metric}", condition))
            notes = [f"{has:,} of {of:,} answers"] if of else []
            notes += tested_notes(test, test.outcome) if test else ()
            cells.append(Cell(plain(mean), tuple(notes), tone_of(test) if test else ""))
        rows.append(cells)
    return table(
        "Mean of each metric, 0 to 1, over the answers that have a value, and against "
        f"{data.baseline} {TESTED}",
        ("Metric", *data.conditions),
        rows,
    )


def quality_reasons(data: ReportData) -> TableView | None:
    """Return why metrics have no value, counted by metric, search method and reason."""
    if data.quality_scores is None or data.answers is None:
        return None
    missing = (
        data.quality_scores.filter(pl.col("value").is_null())
        .join(data.answers.select("answer_id", "method"), on="answer_id", how="left")
        .group_by("family", "metric", "method", "reason")
        .agg(pl.len().alias("answers"))
        .sort("family", "metric", "method", "reason")
    )
    return table(
        "Metrics without a value; none of these counts as 0",
        ("Metric", "search method", "answers", "why"),
        [
            [f"{family} {metric}".replace("_", " "), method or NONE, f"{number:,}", reason or NONE]
            for family, metric, method, reason, number in missing.iter_rows()
        ],
        wordy=True,
    )
