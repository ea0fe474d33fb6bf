"""Entity records against gleanings (paper Figure 3)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.core.evaluation.figures.figure import (
    ACCENT,
    COLOURS,
    INK,
    Figure,
    drawn,
    panels,
    sentences,
    short,
)
from graphrag_dagster.core.evaluation.figures.labels import spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: Of a chunk size its points (gleanings, entity records), by gleanings.
Series = Mapping[int, Sequence[tuple[int, int]]]
_HEIGHT = 3.6
_MARKERS = "osD^vP"


def gleaning_lines(counts: pl.DataFrame) -> Figure | None:
    """Draw a line per chunk size; where nothing was gleaned, a bar per size.

    Args:
        counts: chunk_size (tokens), gleanings, entities (records of all rounds so far).

    Returns:
        None without counts.
    """
    if counts.is_empty():
        return None
    series: dict[int, list[tuple[int, int]]] = {}
    for size, gleanings, entities in (
        counts.select("chunk_size", "gleanings", "entities").sort("chunk_size", "gleanings").iter_rows()
    ):
        series.setdefault(size, []).append((gleanings, entities))
    rounds = sorted({gleanings for points in series.values() for gleanings, _ in points})
    lines = len(rounds) > 1
    listed = (
        f"Chunks of {size:,} tokens: "
        + ", ".join(f"{records:,}" + (f" at {gleanings}" if lines else "") for gleanings, records in points)
        + "."
        for size, points in series.items()
    )
    return drawn(
        (lambda drawing: _lines(drawing, series, rounds))
        if lines
        else lambda drawing: _bars(drawing, series),
        height=_HEIGHT if lines else 0.8 + 0.34 * max(2, len(series)),
        name="gleanings",
        title="Entity records by chunk size" + (" and gleanings" if lines else ""),
        caption="Entity records of all replies together, by chunk size in tokens"
        + (" and by the number of gleanings, the repeated questions for what was missed." if lines else "."),
        alt=sentences(f"{'Lines' if lines else 'Bars'} of entity records.", *listed),
    )


def _lines(drawing: "Drawing", series: Series, rounds: Sequence[int]) -> None:
    axis = panels(drawing, 1, 1)[0]
    highest = max(records for points in series.values() for _, records in points) or 1
    axis.set(ylim=(0, highest * 1.06), xlim=(rounds[0] - 0.08, rounds[-1] + 0.08))
    axis.set_xticks(rounds)
    axis.set(xlabel="gleanings", ylabel="entity records")
    ends = [points[-1][1] for points in series.values()]
    # About the height of a line of text on the axis.
    heights = spread(ends, gap=highest * 1.06 * 0.058)
    for index, ((size, points), height) in enumerate(zip(series.items(), heights, strict=True)):
        colour = COLOURS[index % len(COLOURS)]
        x, y = zip(*points, strict=True)
        axis.plot(x, y, color=colour, marker=_MARKERS[index % len(_MARKERS)], clip_on=False, zorder=3)
        axis.annotate(
            f"{size:,} tokens",
            points[-1],
            xytext=(1.025, height),
            textcoords=axis.get_yaxis_transform(),
            va="center_baseline",
            color=INK,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0},
            annotation_clip=False,
        )
    _quiet(axis, "y")


def _bars(drawing: "Drawing", series: Series) -> None:
    axis = panels(drawing, 1, 1)[0]
    for place, points in enumerate(series.values()):
        records = points[-1][1]
        axis.barh(place, records, 0.62, color=ACCENT)
        axis.annotate(
            f"{records:,}",
            (records, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center_baseline",
        )
    axis.set_yticks(range(len(series)), [f"{size:,} tokens" for size in series])
    axis.set(xlabel="entity records", ylim=(len(series) - 0.5, -0.5))
    axis.margins(x=0.09)
    _quiet(axis, "x")


def _quiet(axis: "Axes", counted: str) -> None:
    """Leave only the grid of the axis that is counted on."""
    along = axis.yaxis if counted == "y" else axis.xaxis
    along.set_major_formatter(lambda value, _: short(value))
    along.grid(visible=True)
    axis.spines["left" if counted == "y" else "bottom"].set_visible(False)
    axis.tick_params(length=0)
