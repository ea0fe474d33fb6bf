"""Scatter plots whose names stand in a column beside them, and cost against quality (paper Tables 2 to 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.apps.evaluation.figures.figure_style import (
    ACCENT,
    INK,
    PLAIN,
    QUIET,
    Figure,
    format_axis_number,
    panels,
    render_figure,
    sentences,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Return the positions moved as little as they must be to lie ``gap`` apart, in the order given.

    Neighbours that are too close become a block around the mean of what its members want; equal positions
    keep the order in which they came.
    """
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    # A block is the sum of its members' wishes for its first member's place, and their number.
    blocks: list[tuple[float, int]] = []
    for index in order:
        total, members = positions[index], 1
        while blocks and total / members < blocks[-1][0] / blocks[-1][1] + blocks[-1][1] * gap:
            before, earlier = blocks.pop()
            total, members = before + total - members * earlier * gap, earlier + members
        blocks.append((total, members))
    places = [total / members + step * gap for total, members in blocks for step in range(members)]
    moved = [0.0] * len(positions)
    for index, place in zip(order, places, strict=True):
        moved[index] = place
    return moved


def name_at_right(axis: "Axes", named: Sequence[tuple[str, tuple[float, float], str]], gap: float) -> None:
    """Write names beside an axis, each led to its point by a line.

    Args:
        axis: its limits are settled.
        named: name, point, and colour of the line.
        gap: about the height of a line of text, in the unit of the heights.
    """
    heights = spread([point[1] for _, point, _ in named], gap)
    low, high = axis.get_ylim()
    inside = max(low - min(heights), 0.0) - max(max(heights) - high, 0.0)
    for (name, point, colour), height in zip(named, heights, strict=True):
        axis.annotate(
            name,
            point,
            xytext=(1.04, height + inside),
            textcoords=axis.get_yaxis_transform(),
            va="center_baseline",
            color=INK,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 0,
                "shrinkB": 0,
            },
            annotation_clip=False,
            zorder=2,
        )


#: Inches that such a figure is high.
HEIGHT = 4.2
_MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """A label, how far to the right it stands, and its height with the bounds of the interval."""

    label: str
    across: float
    mean: float
    low: float | None
    high: float | None


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis: 1, 2, 5 times powers of ten, or fewer of them.

    Where such an axis holds fewer than two of them, they are evenly spaced.
    """
    first, last = floor(log10(low)), floor(log10(high)) + 1
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        inside = [tick for tick in found if low <= tick <= high]
        if len(inside) < 2 and steps[1:]:
            return _even_ticks(low, high)
        if len(inside) <= _MOST_TICKS:
            return inside
    return inside[:: -(-len(inside) // _MOST_TICKS)]


def _even_ticks(low: float, high: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    return [float(tick) for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]


def draw_points(
    drawing: "Drawing", points: Sequence[ScatterPoint], across: str, up: str, *, logarithmic: bool = False
) -> None:
    """Draw labelled points with the intervals of their heights.

    Args:
        drawing: an empty figure.
        points: to draw.
        across: name of the axis to the right.
        up: name of the other.
        logarithmic: the axis to the right is; all its values lie above 0.
    """
    axis = panels(drawing, 1, 1)[0]
    for point in points:
        if point.low is not None and point.high is not None:
            axis.plot([point.across] * 2, [point.low, point.high], color=PLAIN, linewidth=1.4, zorder=2)
        axis.plot(
            point.across,
            point.mean,
            marker="o",
            color=ACCENT,
            markersize=7.5,
            zorder=3,
            markeredgecolor="white",
        )
    axis.set(xlabel=f"{across} (logarithmic)" if logarithmic else across, ylabel=up)
    axis.margins(x=0.12, y=0.12)
    if logarithmic:
        _scale(axis, [point.across for point in points])
    axis.xaxis.set_major_formatter(lambda value, _: format_axis_number(value))
    axis.yaxis.set_major_formatter(lambda value, _: format_axis_number(value))
    axis.grid()
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    low, high = axis.get_ylim()
    named = [(point.label, (point.across, point.mean), QUIET) for point in points]
    name_at_right(axis, named, (high - low) * 0.055)


def _scale(axis: "Axes", values: Sequence[float]) -> None:
    low, high = _log_limits(min(values), max(values))
    axis.set(xscale="log", xlim=(low, high))
    axis.set_xticks(ticks(low, high))
    axis.set_xticks([], minor=True)


def _log_limits(lowest: float, highest: float) -> tuple[float, float]:
    """Return limits with room for labels, and at least a factor of 1.3 apart."""
    room = max(1.04, (highest / lowest) ** 0.12, (1.3 * lowest / highest) ** 0.5)
    return lowest / room, highest * room


#: What a cost is called on the axis and in the caption, from the one to show first.
_COSTS: Mapping[str, str] = MappingProxyType(
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
) -> Figure | None:
    """Draw a labelled point per condition: its cost by a logarithmic scale, and a measure of its answers.

    The cost is that which most conditions have, of equals the first of tokens, US dollars and tokens of
    context.

    Args:
        costs: condition, input_tokens, output_tokens, context_tokens and usd per answer, the last nullable.
        means: measure, condition, mean, ci_low, ci_high, the last three nullable.
        measure: of the means.
        conditions: which to show; those without a cost above 0 or without a mean are named in the caption.

    Returns:
        None where fewer than two conditions have both.
    """
    rows = (
        costs.with_columns(tokens=pl.col("input_tokens") + pl.col("output_tokens"))
        .filter(pl.col("condition").is_in(conditions))
        .join(means.filter(pl.col("measure") == measure), on="condition", how="inner")
        .filter(pl.col("mean").is_not_null())
    )
    chosen = max(_COSTS, key=lambda name: rows.filter(pl.col(name) > 0).height)
    by_condition = {
        condition: ScatterPoint(condition, *values)
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
    return render_figure(
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
            *(f"{point.label}: {format_axis_number(point.across)}, {point.mean:.4g}." for point in points),
        ),
    )
