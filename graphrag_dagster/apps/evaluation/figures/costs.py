"""Cost of each condition against its quality (paper Table 2 beside Tables 3 and 4)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import polars as pl

from graphrag_dagster.apps.evaluation.figures.figure import Figure, drawn, sentences, short, words
from graphrag_dagster.apps.evaluation.figures.scatter import HEIGHT, Point, draw_points

Cost = Literal["tokens", "usd", "context_tokens"]
#: What a cost is called on the axis and in the caption, from the one to show first.
_COSTS: Mapping[Cost, str] = MappingProxyType(
    {
        "tokens": "tokens sent and received per answer",
        "usd": "US dollars per answer",
        "context_tokens": "tokens of context per answer",
    }
)


def cost_against_quality(
    costs: pl.DataFrame,
    means: pl.DataFrame,
    measure: str,
    conditions: Sequence[str],
    *,
    cost: Cost | None = None,
) -> Figure | None:
    """Draw a labelled point per condition: its cost by a logarithmic scale, and a measure of its answers.

    Args:
        costs: condition, input_tokens, output_tokens, context_tokens and usd per answer, the last nullable.
        means: measure, condition, mean, ci_low, ci_high, the last three nullable.
        measure: of the means.
        conditions: which to show; those without a cost above 0 or without a mean are named in the caption.
        cost: which to show; by default the one that most conditions have, of equals the first of tokens,
            US dollars and tokens of context.

    Returns:
        None where fewer than two conditions have both.
    """
    rows = (
        costs.with_columns(tokens=pl.col("input_tokens") + pl.col("output_tokens"))
        .filter(pl.col("condition").is_in(conditions))
        .join(means.filter(pl.col("measure") == measure), on="condition", how="inner")
        .filter(pl.col("mean").is_not_null())
    )
    chosen = cost if cost else _commonest(rows)
    by_condition = {
        condition: Point(condition, *values)
        for condition, *values in rows.filter(pl.col(chosen) > 0)
        .select("condition", chosen, "mean", "ci_low", "ci_high")
        .iter_rows()
    }
    asked = list(dict.fromkeys(conditions))
    points = [by_condition[condition] for condition in asked if condition in by_condition]
    if len(points) < 2:
        return None
    missing = [condition for condition in asked if condition not in by_condition]
    intervals = any(point.low is not None and point.high is not None for point in points)
    return drawn(
        lambda drawing: draw_points(
            drawing, points, _COSTS[chosen], words(measure).lower(), logarithmic=True
        ),
        height=HEIGHT,
        name=f"costs_{measure}",
        title=f"Cost against {words(measure).lower()}",
        caption=sentences(
            f"{words(measure)}, mean over the questions"
            + (" with 95 % bootstrap intervals" if intervals else "")
            + f", against {_COSTS[chosen]} on a logarithmic scale; up and to the left is better.",
            f"Without both: {', '.join(missing)}." if missing else "",
        ),
        alt=sentences(
            f"Points: {_COSTS[chosen]}, {words(measure).lower()}.",
            *(f"{point.label}: {short(point.across)}, {point.mean:.4g}." for point in points),
        ),
    )


def _commonest(rows: pl.DataFrame) -> Cost:
    return max(_COSTS, key=lambda name: rows.filter(pl.col(name) > 0).height)
