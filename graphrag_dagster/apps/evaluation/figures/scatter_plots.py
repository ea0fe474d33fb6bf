"""Scatter plots whose labels do not overlap, and cost against quality (paper Tables 2 to 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import floor, log10
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

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


#: Left, bottom, right, top.
Box = tuple[float, float, float, float]
#: Directions from a point to its label, best first; the label touches the point's ring there.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_BETWEEN = ((1, 0.4), (1, -0.4), (-1, 0.4), (-1, -0.4))
#: Of covering another label or leaving the frame, against covering a point, an interval or a line.
_GRAVE = 20.0
_RINGS = (1.0, 2.2, 3.6, 5.2, 7.0, 9.0, 11.5, 14.0, 17.0)


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


def place_labels(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    within: Box,
    ring: float,
) -> list[Box]:
    """Return a box per label near its point: clear of the others, of points, obstacles, and the edge.

    Labels are placed one after the other, the most crowded point first, at the nearest free place of
    several directions and distances. Where none is free, it is the place that covers least.

    Args:
        points: x and y of each point, in one unit with all else.
        sizes: width and height of each label.
        obstacles: boxes that no label should cover, such as intervals.
        within: box that holds all labels.
        ring: distance between a point's centre and its label.
    """
    array = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    taken = [(x - ring / 2, y - ring / 2, x + ring / 2, y + ring / 2) for x, y in array.tolist()]
    taken += obstacles
    apart = np.hypot(*(array[:, None] - array[None]).transpose(2, 0, 1))
    crowded = (1 / (apart + ring)).sum(axis=1)
    placed: dict[int, Box] = {}
    for index in np.argsort(-crowded, kind="stable").tolist():
        candidates = [
            _label_position(array[index], sizes[index], direction, ring * factor)
            for factor, direction in product(_RINGS, (*_SIDES, *_BETWEEN))
        ]
        labels = list(placed.values())
        covered = [
            _overlap(box, taken)
            + _overlap(box, labels) * _GRAVE
            + _area_outside(box, within) * _GRAVE
            + sum(_overlap(dot, labels) for dot in _leader(array[index], box))
            for box in candidates
        ]
        placed[index] = candidates[int(np.argmin(covered))]
        taken += _leader(array[index], placed[index])
    return [placed[index] for index in range(len(points))]


def _label_position(
    point: NDArray[np.float64], size: tuple[float, float], direction: tuple[float, float], ring: float
) -> Box:
    (x, y), (width, height), (right, up) = point.tolist(), size, direction
    diagonal = 0.7 if right and up else 1.0
    centre_x = x + right * (ring * diagonal + width / 2)
    centre_y = y + up * (ring * diagonal + height / 2)
    return (centre_x - width / 2, centre_y - height / 2, centre_x + width / 2, centre_y + height / 2)


def _leader(point: NDArray[np.float64], box: Box) -> list[Box]:
    """Return dots along the line from the point to its label."""
    (x, y), (left, bottom, right, top) = point.tolist(), box
    to_x, to_y = min(max(left, x), right), min(max(bottom, y), top)
    steps = [share / 8 for share in range(2, 8)]
    dots = [(x + share * (to_x - x), y + share * (to_y - y)) for share in steps]
    return [(x - 1.5, y - 1.5, x + 1.5, y + 1.5) for x, y in dots]


def _overlap(box: Box, others: Sequence[Box]) -> float:
    return sum(_shared_area(box, other) for other in others)


def _area_outside(box: Box, within: Box) -> float:
    left, bottom, right, top = box
    return (right - left) * (top - bottom) - _shared_area(box, within)


def _shared_area(one: Box, other: Box) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, wide) * max(0.0, high)


#: Inches that such a figure is high.
HEIGHT = 4.2
_RING = 7.0
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
    _label(drawing, axis, points)


def _scale(axis: "Axes", values: Sequence[float]) -> None:
    low, high = _log_limits(min(values), max(values))
    axis.set(xscale="log", xlim=(low, high))
    axis.set_xticks(ticks(low, high))
    axis.set_xticks([], minor=True)


def _log_limits(lowest: float, highest: float) -> tuple[float, float]:
    """Return limits with room for labels, and at least a factor of 1.3 apart."""
    room = max(1.04, (highest / lowest) ** 0.12, (1.3 * lowest / highest) ** 0.5)
    return lowest / room, highest * room


def _label(drawing: "Drawing", axis: "Axes", points: Sequence[ScatterPoint]) -> None:
    """Put the names where they are free; lines lead to those further away."""
    texts = [
        axis.annotate(
            point.label,
            (point.across, point.mean),
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
    places = axis.transData.transform([(point.across, point.mean) for point in points]) * unit
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


def _whiskers(axis: "Axes", points: Sequence[ScatterPoint], unit: float) -> list[Box]:
    boxes: list[Box] = []
    for point in points:
        if point.low is not None and point.high is not None:
            ends = axis.transData.transform([(point.across, point.low), (point.across, point.high)]) * unit
            (x, bottom), (_, top) = ends.tolist()
            boxes.append((x - 1.5, bottom, x + 1.5, top))
    return boxes


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
