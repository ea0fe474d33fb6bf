"""Entity references against gleanings (paper Figure 3), and the distinct entities among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.apps.evaluation.figures.figure_style import (
    ACCENT,
    COLOURS,
    PLAIN,
    Figure,
    format_axis_number,
    panels,
    render_figure,
    sentences,
)
from graphrag_dagster.apps.evaluation.figures.scatter_plots import name_at_right

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_HEIGHT = 3.4
_MARKERS = "osD^vP"
_UNASKED = "forced"
_TITLES = {"entities": "Entity references", "distinct_entities": "Distinct entities"}


@dataclass(frozen=True, slots=True)
class GleaningLine:
    """The counts of a chunk size (tokens) in one mode, by gleanings: references and distinct names."""

    size: int
    mode: str
    gleanings: tuple[int, ...]
    entities: tuple[int, ...]
    distinct_entities: tuple[int, ...]


def gleaning_lines(counts: pl.DataFrame) -> Figure | None:
    """Draw a line per chunk size and mode; where nothing was gleaned, bars per size.

    Args:
        counts: chunk_size (tokens), mode (``checked`` or ``forced``), gleanings, entities (references of all
            rounds so far), distinct_entities (names among them).

    Returns:
        None without counts.
    """
    if counts.is_empty():
        return None
    lines = _lines_of(counts)
    gleaned = max(len(line.gleanings) for line in lines) > 1
    unasked = gleaned and any(line.mode == _UNASKED for line in lines)
    return render_figure(
        lambda drawing: (_draw_lines if gleaned else _draw_bars)(drawing, lines),
        height=_HEIGHT if gleaned else 0.8 + 0.34 * max(2, len(lines)),
        name="gleanings",
        title="Entity references by chunk size" + (" and gleanings" if gleaned else ""),
        caption=sentences(
            "References are the entity records of all replies, as counted in the paper; distinct entities "
            "are the names among them, as merged in the graph.",
            "Gleanings are repeated requests for missed records, made while the model says that some are "
            "missing."
            if gleaned
            else "",
            "Dashed lines show gleanings that are always made." if unasked else "",
        ),
        alt=sentences(
            f"{'Lines' if gleaned else 'Bars'} of entity references and distinct entities.",
            *(_caption(line, gleaned) for line in lines),
        ),
    )


def _lines_of(counts: pl.DataFrame) -> list[GleaningLine]:
    ordered = counts.sort("chunk_size", "mode", "gleanings")
    return [
        GleaningLine(
            size, mode, tuple(rows["gleanings"]), tuple(rows["entities"]), tuple(rows["distinct_entities"])
        )
        for (size, mode), rows in ordered.group_by("chunk_size", "mode", maintain_order=True)
    ]


def _caption(line: GleaningLine, gleaned: bool) -> str:
    points = zip(line.gleanings, line.entities, line.distinct_entities, strict=True)
    told = []
    for at, (last, references, distinct) in enumerate(points):
        named = f"{references:,}{'' if at else ' references'} ({distinct:,}{'' if at else ' distinct'})"
        told.append(f"{named}{f' at {last}' if gleaned else ''}")
    unasked = ", always made" if gleaned and line.mode == _UNASKED else ""
    return f"Chunks of {line.size:,} tokens{unasked}: {', '.join(told)}."


def _draw_lines(drawing: "Drawing", lines: Sequence[GleaningLine]) -> None:
    sizes = sorted({line.size for line in lines})
    for axis, kind in zip(panels(drawing, len(_TITLES), len(_TITLES)), _TITLES, strict=True):
        highest = max(count for line in lines for count in getattr(line, kind)) or 1
        last = max(line.gleanings[-1] for line in lines)
        axis.set(ylim=(0, highest * 1.06), xlim=(-0.08, last + 0.08), xlabel="gleanings")
        axis.set_xticks(range(last + 1))
        axis.set_title(_TITLES[kind], pad=8)
        for line in lines:
            place = sizes.index(line.size)
            axis.plot(
                line.gleanings,
                getattr(line, kind),
                color=COLOURS[place % len(COLOURS)],
                marker=_MARKERS[place % len(_MARKERS)],
                linestyle=(0, (4, 2)) if line.mode == _UNASKED else "-",
                clip_on=False,
                zorder=2 if line.mode == _UNASKED else 3,
            )
        _name_lines(axis, lines, kind, highest * 1.06 * 0.062)
        _hide_axis(axis, "y")


def _name_lines(axis: "Axes", lines: Sequence[GleaningLine], kind: str, gap: float) -> None:
    """Write each size once, at the end of its first line; ``gap`` is about the height of a line of text."""
    named = list({line.size: line for line in reversed(lines)}.values())[::-1]
    ends = [(line.gleanings[-1], getattr(line, kind)[-1]) for line in named]
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(named))]
    names = [f"{line.size:,} tokens" for line in named]
    name_at_right(axis, list(zip(names, ends, colours, strict=True)), gap)


def _draw_bars(drawing: "Drawing", lines: Sequence[GleaningLine]) -> None:
    for axis, kind in zip(panels(drawing, len(_TITLES), len(_TITLES)), _TITLES, strict=True):
        for place, line in enumerate(lines):
            count = getattr(line, kind)[-1]
            axis.barh(place, count, 0.62, color=ACCENT if kind == "entities" else PLAIN)
            axis.annotate(
                f"{count:,}",
                (count, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center_baseline",
            )
        axis.set_yticks(range(len(lines)), [f"{line.size:,} tokens" for line in lines])
        axis.set(ylim=(len(lines) - 0.5, -0.5))
        axis.set_title(_TITLES[kind], pad=8)
        axis.margins(x=0.12)
        _hide_axis(axis, "x")


def _hide_axis(axis: "Axes", counted: str) -> None:
    """Leave only the grid of the axis that is counted on."""
    along = axis.yaxis if counted == "y" else axis.xaxis
    along.set_major_formatter(lambda value, _: format_axis_number(value))
    along.grid(visible=True)
    axis.spines["left" if counted == "y" else "bottom"].set_visible(False)
    axis.tick_params(length=0)
