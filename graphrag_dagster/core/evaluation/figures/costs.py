"""What a condition costs against how good it is (paper Table 2 beside Tables 3 and 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import polars as pl

from graphrag_dagster.core.evaluation.figures.figure import (
    ACCENT,
    INK,
    PLAIN,
    QUIET,
    Figure,
    drawn,
    panels,
    sentences,
    short,
    words,
)
from graphrag_dagster.core.evaluation.figures.labels import Box, place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Cost = Literal["tokens", "usd", "context_tokens"]
#: What a cost is called on the axis and in the caption, from the one to show first.
_COSTS: Mapping[Cost, str] = MappingProxyType(
    {
        "tokens": "tokens sent and received per answer",
        "usd": "US dollars per answer",
        "context_tokens": "tokens of context per answer",
    }
)
_HEIGHT = 4.2
_RING = 7.0


@dataclass(frozen=True, slots=True)
class Point:
    """A condition: its cost, and its quality with the bounds of the interval."""

    condition: str
    cost: float
    mean: float
    low: float | None
    high: float | None


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
        lambda drawing: _draw(drawing, points, _COSTS[chosen], words(measure).lower()),
        height=_HEIGHT,
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
            *(f"{point.condition}: {short(point.cost)}, {point.mean:.4g}." for point in points),
        ),
    )


def _commonest(rows: pl.DataFrame) -> Cost:
    return max(_COSTS, key=lambda name: rows.filter(pl.col(name) > 0).height)


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers for a logarithmic axis: 1, 2, 5 times powers of ten, or fewer of them.

    Where such an axis holds fewer than two of them, they are evenly spaced.
    """
    first, last = floor(log10(low)), floor(log10(high)) + 1
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        inside = [tick for tick in found if low <= tick <= high]
        if len(inside) < 2 and steps[1:]:
            return _even_ticks(low, high)
        if len(inside) <= most:
            return inside
    return inside[:: -(-len(inside) // most)]


def _even_ticks(low: float, high: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    return [float(tick) for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]


def _draw(drawing: "Drawing", points: Sequence[Point], cost: str, measure: str) -> None:
    axis = panels(drawing, 1, 1)[0]
    for point in points:
        if point.low is not None and point.high is not None:
            axis.plot([point.cost] * 2, [point.low, point.high], color=PLAIN, linewidth=1.4, zorder=2)
        axis.plot(
            point.cost,
            point.mean,
            marker="o",
            color=ACCENT,
            markersize=7.5,
            zorder=3,
            markeredgecolor="white",
        )
    costs = [point.cost for point in points]
    low, high = _log_limits(min(costs), max(costs))
    axis.set(xscale="log", xlim=(low, high), xlabel=f"{cost} (logarithmic)", ylabel=measure)
    axis.set_xticks(ticks(low, high))
    axis.set_xticks([], minor=True)
    axis.xaxis.set_major_formatter(lambda value, _: short(value))
    axis.yaxis.set_major_formatter(lambda value, _: short(value))
    axis.margins(y=0.12)
    axis.grid()
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    _label(drawing, axis, points)


def _log_limits(lowest: float, highest: float) -> tuple[float, float]:
    """Return limits with room for labels, and at least a factor of 1.3 apart."""
    room = max(1.04, (highest / lowest) ** 0.12, (1.3 * lowest / highest) ** 0.5)
    return lowest / room, highest * room


def _label(drawing: "Drawing", axis: "Axes", points: Sequence[Point]) -> None:
    """Put the conditions' names where they are free; lines lead to those further away."""
    texts = [
        axis.annotate(
            point.condition,
            (point.cost, point.mean),
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            color=INK,
            arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 4},
            zorder=4,
        )
        for point in points
    ]
    # Only a figure that has been laid out knows where its points are and how large its texts.
    drawing.draw_without_rendering()
    unit = 72 / drawing.dpi
    extents = [text.get_window_extent() for text in texts]
    sizes = [(bare.width * unit + 2, bare.height * unit + 1) for bare in extents]
    places = axis.transData.transform([(point.cost, point.mean) for point in points]) * unit
    frame = axis.bbox
    boxes = place_labels(
        [(float(x), float(y)) for x, y in places],
        sizes,
        _whiskers(axis, points, unit),
        (frame.x0 * unit, frame.y0 * unit, frame.x1 * unit, frame.y1 * unit),
        _RING,
    )
    for text, (x, y), (left, bottom, right, top) in zip(texts, places, boxes, strict=True):
        text.set_position(((left + right) / 2 - float(x), (bottom + top) / 2 - float(y)))
        nearest_x, nearest_y = min(max(left, x), right), min(max(bottom, y), top)
        if text.arrow_patch and (nearest_x - x) ** 2 + (nearest_y - y) ** 2 <= (1.2 * _RING) ** 2:
            text.arrow_patch.set_visible(False)


def _whiskers(axis: "Axes", points: Sequence[Point], unit: float) -> list[Box]:
    boxes: list[Box] = []
    for point in points:
        if point.low is not None and point.high is not None:
            ends = axis.transData.transform([(point.cost, point.low), (point.cost, point.high)]) * unit
            (x, bottom), (_, top) = ends.tolist()
            boxes.append((x - 1.5, bottom, x + 1.5, top))
    return boxes
