"""Scatter plots of labelled points."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING

from graphrag_dagster.apps.evaluation.figures.figure import ACCENT, INK, PLAIN, QUIET, panels, short
from graphrag_dagster.apps.evaluation.figures.labels import Box, place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: Inches that such a figure is high.
HEIGHT = 4.2
_RING = 7.0


@dataclass(frozen=True, slots=True)
class Point:
    """A label, how far to the right it stands, and its height with the bounds of the interval."""

    label: str
    across: float
    mean: float
    low: float | None
    high: float | None


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


def draw_points(
    drawing: "Drawing", points: Sequence[Point], across: str, up: str, *, logarithmic: bool = False
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
    axis.xaxis.set_major_formatter(lambda value, _: short(value))
    axis.yaxis.set_major_formatter(lambda value, _: short(value))
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


def _label(drawing: "Drawing", axis: "Axes", points: Sequence[Point]) -> None:
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


def _whiskers(axis: "Axes", points: Sequence[Point], unit: float) -> list[Box]:
    boxes: list[Box] = []
    for point in points:
        if point.low is not None and point.high is not None:
            ends = axis.transData.transform([(point.across, point.low), (point.across, point.high)]) * unit
            (x, bottom), (_, top) = ends.tolist()
            boxes.append((x - 1.5, bottom, x + 1.5, top))
    return boxes
