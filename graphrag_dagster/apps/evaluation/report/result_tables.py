"""Tables of the results: preferences, counts, tests, agreement of judge and claims, metrics, cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.inference.measure_names import (
    ALPHA,
    CONTROL,
    NONE,
    Kind,
    Measure,
    measure,
    money,
    p_value,
    percent,
    plain,
    share,
    with_sign,
)
from graphrag_dagster.apps.evaluation.inference.verdict import Contrast, are_opposed, overall_winners
from graphrag_dagster.apps.evaluation.report.table_views import (
    BOUNDS,
    TESTED,
    ReportCell,
    ReportData,
    ReportTable,
    others,
    rows_of,
    table,
    tested_notes,
    tests,
    tone_of,
)
from graphrag_dagster.apps.evaluation.tasks import CRITERIA

Row = dict[str, Any]
Tests = Mapping[tuple[str, str], Contrast]


def judged_table(data: ReportData) -> ReportTable | None:
    """Return the win rates over the baseline, with intervals and corrected p."""
    found = {(one.measure, one.condition): one for one in tests(data)}
    names = [name for name in CRITERIA if any(key[0] == name for key in found)]
    rows = [
        [ReportCell(name, ("control",) if name == CONTROL else ()), *_win_cells(found, name, others(data))]
        for name in names
    ]
    return table(
        f"Comparisons won against {data.baseline}, ties counted half, 50 % is a draw; {BOUNDS}, and {TESTED}",
        ("Criterion", *others(data)),
        rows,
    )


def _win_cells(found: Tests, name: str, conditions: Sequence[str]) -> list[ReportCell]:
    cells = []
    for condition in conditions:
        test = found.get((name, condition))
        if test is None:
            cells.append(ReportCell(NONE))
            continue
        interval = test.win_rate_interval
        bounds = (f"{percent(interval[0], 0)} to {percent(interval[1], 0)}",) if interval else ()
        word = {"better": "wins", "worse": "loses"}.get(test.outcome, test.outcome)
        cells.append(ReportCell(percent(test.mean), (*bounds, *tested_notes(test, word)), tone_of(test)))
    return cells


def measure_table(
    data: ReportData, kinds: Sequence[Kind], caption: str, *, inclusive: bool
) -> ReportTable | None:
    """Return the means of measures of some kinds with intervals, and their tests against the baseline.

    ``inclusive`` chooses which of the two counts of clusters are shown.
    """
    means = {(row["measure"], row["condition"]): row for row in rows_of(data.condition_means)}
    found = {(one.measure, one.condition): one for one in tests(data)}
    chosen = [
        one
        for one in sorted({measure(str(name)) for name, _ in means}, key=lambda one: one.order)
        if one.kind in kinds and one.inclusive == inclusive
    ]
    rows = [
        [
            ReportCell(one.label, _direction_notes(one)),
            *(
                _mean_cell(means.get((one.name, condition)), found.get((one.name, condition)))
                for condition in data.conditions
            ),
        ]
        for one in chosen
    ]
    return table(caption, ("Measure", *data.conditions), rows, folded=inclusive)


def _direction_notes(one: Measure) -> tuple[str, ...]:
    notes: dict[int, tuple[str, ...]] = {0: ("neither more nor less is better",), -1: ("less is better",)}
    return notes.get(one.sign, ())


def _mean_cell(row: Row | None, test: Contrast | None) -> ReportCell:
    if row is None or row["mean"] is None:
        return ReportCell(NONE)
    bounds = () if row["ci_low"] is None else (f"{plain(row['ci_low'])} to {plain(row['ci_high'])}",)
    if test is None:
        return ReportCell(plain(row["mean"]), bounds)
    word = "more" if test.difference > 0 else "less"
    if test.outcome not in ("better", "worse"):
        word = test.outcome
    return ReportCell(plain(row["mean"]), (*bounds, *tested_notes(test, word)), tone_of(test))


def win_rate_grids(data: ReportData) -> list[ReportTable]:
    """Return for each criterion the win rates of all pairs, coloured where the corrected test finds any."""
    rates = {
        (row["criterion"], row["condition"], row["opponent"]): row["win_rate"]
        for row in rows_of(data.win_rates)
    }
    differing = {
        (row["measure"], frozenset((row["condition_a"], row["condition_b"])))
        for row in rows_of(data.significance)
        if row["p_holm"] < ALPHA and not are_opposed(row["difference"], row["rank_biserial"])
    }
    grids = []
    for name in (one for one in CRITERIA if any(key[0] == one for key in rates)):
        winners = [] if data.win_rates is None else overall_winners(data.win_rates, name, data.conditions)
        rows = [
            [
                ReportCell(one, ("overall winner",) if one in winners else ()),
                *(
                    _grid_cell(rates.get((name, one, other)), (name, frozenset((one, other))) in differing)
                    for other in data.conditions
                ),
            ]
            for one in data.conditions
        ]
        caption = f"{name}: how often the row wins against the column, in per cent"
        grid = table(caption, ("Wins of", *(f"over {one}" for one in data.conditions)), rows)
        grids += [grid] if grid else []
    return grids


def _grid_cell(rate: float | None, differs: bool) -> ReportCell:
    if rate is None:
        return ReportCell(NONE)
    return ReportCell(f"{rate:.1f}", tone="" if not differs or rate == 50 else "good" if rate > 50 else "bad")


def all_tests_table(data: ReportData) -> ReportTable | None:
    """Return every test of every pair."""
    place = {name: at for at, name in enumerate(data.conditions)}
    rows: list[Row] = sorted(
        rows_of(data.significance),
        key=lambda row: (
            measure(str(row["measure"])).order,
            place.get(str(row["condition_a"]), len(place)),
            place.get(str(row["condition_b"]), len(place)),
        ),
    )
    return table(
        "All tests: bootstrap of the mean difference, and Wilcoxon's signed-rank test, corrected by Holm "
        "within each measure",
        (
            "Measure and pair",
            "questions",
            "means",
            "difference of means",
            BOUNDS,
            "Wilcoxon's z",
            "ranks, −1 to 1",
            "p",
            "p, Holm",
        ),
        [
            [
                ReportCell(
                    f"{row['condition_a']} and {row['condition_b']}", (measure(row["measure"]).label,)
                ),
                ReportCell(f"{row['questions']:,}", (f"{row['zeros']:,} equal",)),
                ReportCell(f"{plain(row['mean_a'])} and {plain(row['mean_b'])}"),
                ReportCell(with_sign(row["difference"])),
                ReportCell(
                    NONE if row["ci_low"] is None else f"{plain(row['ci_low'])} to {plain(row['ci_high'])}"
                ),
                ReportCell(plain(row["z"])),
                ReportCell(with_sign(row["rank_biserial"])),
                ReportCell(p_value(row["p"])),
                ReportCell(p_value(row["p_holm"])),
            ]
            for row in rows
        ],
        folded=True,
    )


def alignment_table(data: ReportData) -> ReportTable | None:
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
                ReportCell(row["criterion"], (measure(row["measure"]).label,)),
                *(ReportCell(f"{row[one]:,}") for one in numbers),
                ReportCell(share(row["agreement"], 0)),
            ]
            for row in rows
        ],
    )


def bias_table(data: ReportData) -> ReportTable | None:
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
                ReportCell(row["criterion"]),
                *(ReportCell(f"{row[one]:,}") for one in ("judgements", "ties", "unusable")),
                ReportCell(share(row["share"])),
                ReportCell(_span(row)),
                ReportCell(p_value(row["p"])),
            ]
            for row in rows
        ],
    )


def _span(row: Row) -> str:
    return NONE if row["ci_low"] is None else f"{share(row['ci_low'], 0)} to {share(row['ci_high'], 0)}"


def cost_table(data: ReportData) -> ReportTable | None:
    """Return what an answer takes, by search method."""
    found = {row["condition"]: row for row in rows_of(data.condition_costs)}
    base = found[data.baseline]["context_tokens"] if data.baseline in found else None
    rows = []
    for condition in (one for one in data.conditions if one in found):
        row = found[condition]
        times = (f"{row['context_tokens'] / base:.1f} × {data.baseline}",) if base else ()
        rows.append(
            [
                ReportCell(condition),
                *(ReportCell(f"{row[one]:,}") for one in ("answers", "refused")),
                ReportCell(plain(row["context_rows"])),
                ReportCell(plain(row["context_tokens"]), times if condition != data.baseline else ()),
                *(ReportCell(plain(row[one])) for one in ("calls", "input_tokens", "output_tokens")),
                ReportCell(money(row["usd"])),
                ReportCell(plain(row["seconds"])),
            ]
        )
    header = ("answers", "refused", "rows read", "tokens read", "calls", "tokens sent", "tokens received")
    return table(
        "Cost of an answer: means, for the seconds the median, as if no reply had come from the LLM cache",
        ("Search method", *header, "US dollars", "seconds"),
        rows,
    )


def sizes_table(data: ReportData) -> ReportTable | None:
    """Return what each condition reads for a question, laid out as the paper's Table 2."""
    rows = rows_of(data.context_sizes)
    spoken = (("units", "{:,}"), ("tokens", "{:,}"), ("percent_of_ts", "{:.1f}"))
    return table(
        "Tokens that the conditions read for one question: reports of C0, C1, …, text units of TS",
        ("", *(row["condition"] for row in rows)),
        [
            [
                ReportCell("% of TS" if name == "percent_of_ts" else name),
                *(ReportCell(NONE if row[name] is None else form.format(row[name])) for row in rows),
            ]
            for name, form in spoken
        ]
        if rows
        else [],
    )


def quality_table(data: ReportData) -> ReportTable | None:
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
        cells = [ReportCell(f"{family} {metric}".replace("_", " "))]
        for condition in data.conditions:
            mean, has, of = means.get((family, metric, condition), (None, 0, 0))
            test = found.get((f"{family} {metric}", condition))
            notes = [f"{has:,} of {of:,} answers"] if of else []
            notes += tested_notes(test, test.outcome) if test else ()
            cells.append(ReportCell(plain(mean), tuple(notes), tone_of(test) if test else ""))
        rows.append(cells)
    return table(
        "Mean of each metric, 0 to 1, over the answers that have a value, and against "
        f"{data.baseline} {TESTED}",
        ("Metric", *data.conditions),
        rows,
    )


def quality_reasons(data: ReportData) -> ReportTable | None:
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
