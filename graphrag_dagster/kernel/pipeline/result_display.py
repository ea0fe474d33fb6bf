"""Display of results: rows as Markdown, counts, small pictures."""

import base64
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from html import escape
from itertools import pairwise
from typing import ParamSpec

import numpy as np
import polars as pl

from graphrag_dagster.kernel.common.printable import printable
from graphrag_dagster.kernel.documents.file_records import error_line


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A rectangle by its corner nearest to the origin, its width and its height."""

    x: float
    y: float
    width: float
    height: float


def squarified(values: Sequence[float], frame: Rectangle) -> list[Rectangle]:
    """Divide a frame into rectangles of areas in proportion to values, as near to squares as rows allow.

    Args:
        values: positive, the largest first.
        frame: what is divided; its area is not 0.

    Returns:
        one rectangle for each value, in their order.

    Raises:
        ValueError: a value is not positive, or a larger one follows it.
    """
    if any(value <= 0 for value in values):
        raise ValueError("a treemap shows positive values")
    if any(later > earlier for earlier, later in pairwise(values)):
        raise ValueError("give the largest values first")
    placed: list[Rectangle] = []
    while len(placed) < len(values):
        rest = values[len(placed) :]
        scale = frame.width * frame.height / sum(rest)
        row = _treemap_row([value * scale for value in rest], min(frame.width, frame.height))
        laid, frame = _laid(row, frame)
        placed += laid
    return placed


def _treemap_row(areas: Sequence[float], side: float) -> Sequence[float]:
    """The areas that stand beside each other along a side: as many as make the worst of them squarer."""
    taken = 1
    while taken < len(areas) and _worst(areas[: taken + 1], side) <= _worst(areas[:taken], side):
        taken += 1
    return areas[:taken]


def _worst(row: Sequence[float], side: float) -> float:
    thick = sum(row) / side
    return max(max(thick * thick / area, area / (thick * thick)) for area in (row[0], row[-1]))


def _laid(row: Sequence[float], frame: Rectangle) -> tuple[list[Rectangle], Rectangle]:
    """Lay a row along the shorter side of a frame; return it, and what is left of the frame."""
    placed = []
    if frame.width >= frame.height:
        thick, y = sum(row) / frame.height, frame.y
        for area in row:
            placed.append(Rectangle(frame.x, y, thick, area / thick))
            y += area / thick
        return placed, Rectangle(frame.x + thick, frame.y, max(frame.width - thick, 0.0), frame.height)
    thick, x = sum(row) / frame.width, frame.x
    for area in row:
        placed.append(Rectangle(x, frame.y, area / thick, thick))
        x += area / thick
    return placed, Rectangle(frame.x, frame.y + thick, frame.width, max(frame.height - thick, 0.0))


_Given = ParamSpec("_Given")
_MOST_BINS, _FEWEST_BINS = 30, 5
_WIDTH, _HEIGHT = 450, 234
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 30, 42
_MAP_WIDTH, _MAP_HEIGHT = 720, 420
#: Colours of the lowest and the highest rating, and from which share of it on letters are white.
_PALE, _DEEP = (226, 238, 247), (8, 64, 107)
_DARK_FROM = 0.55
_WIDEST = 1e300
_CELL = 60
_LETTER, _LINE, _FEWEST_LETTERS = 6.2, 14, 6


class Markdown(str):
    """A text that is shown as Markdown."""


class Url(str):
    """An address that is shown as a link."""


class FilePath(str):
    """The path of a file."""


def rows_of(frame: pl.DataFrame) -> Markdown:
    """The frame as a table with shortened cells."""
    lines = [_row(frame.columns), _row("---" for _ in frame.columns)]
    lines += [_row(_cell(value) for value in row) for row in frame.iter_rows()]
    return Markdown("\n".join(lines))


def quoted(text: str) -> str:
    """Return words of documents as code in a table: no link, picture or HTML comes of them."""
    shown = printable(text).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}" if shown.strip() else ""


def counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """Frequency of each value of the column, sorted by value."""
    return dict(frame.group_by(column).len().sort(column).iter_rows())


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    cut = text if len(text) <= _CELL else text[: _CELL - 1] + "…"
    return cut if isinstance(value, bool | int | float) else quoted(cut)


def _drawn(
    draw: Callable[_Given, Markdown],
) -> Callable[_Given, Markdown]:
    """Decorate what draws: a picture that cannot be drawn says so, and ends no run."""

    @wraps(draw)
    def drawn(*given: _Given.args, **named: _Given.kwargs) -> Markdown:
        try:
            return draw(*given, **named)
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            return Markdown(f"this could not be drawn: {escape(error_line(error))}")

    return drawn


@_drawn
def histogram(values: Sequence[float], title: str, x_label: str) -> Markdown:
    """A histogram as an SVG image inside Markdown; says so where there are no values.

    Values that are no finite numbers are counted beside it.
    """
    given = np.asarray(values, dtype=np.float64)
    finite = given[np.isfinite(given)]
    # Of the widest numbers the difference of two is none.
    shown = finite[np.abs(finite) <= _WIDEST]
    left_out = len(given) - len(shown)
    note = f"{left_out:,} values that are too large, or not numbers, are omitted" if left_out else ""
    if not len(shown):
        return Markdown(note or "no values")
    bins = min(_MOST_BINS, max(_FEWEST_BINS, len(np.unique(shown))))
    counts, edges = np.histogram(shown, bins=bins)
    picture = _picture(title, _svg(counts.tolist(), edges.tolist(), title, x_label))
    return Markdown(f"{picture}\n\n{note}") if note else picture


@_drawn
def treemap(cells: Sequence[tuple[str, int, float | None]], title: str) -> Markdown:
    """A treemap as an SVG image inside Markdown; says so where there are no cells.

    Args:
        cells: title, size and rating (0–10, the darker the higher; None without) of each, the largest first.
        title: of the picture.
    """
    if not cells:
        return Markdown("no communities")
    frame = Rectangle(0, 26, _MAP_WIDTH, _MAP_HEIGHT - 26)
    parts = [_opening(_MAP_WIDTH, _MAP_HEIGHT), _text(_MAP_WIDTH / 2, 18, title, size=13)]
    for (name, size, rating), one in zip(cells, squarified([cell[1] for cell in cells], frame), strict=True):
        share = 0.0 if rating is None else min(max(rating / 10, 0.0), 1.0)
        fill = "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(_PALE, _DEEP, strict=True))
        rated = "not rated" if rating is None else f"rating {rating:.1f}"
        told = escape(f"{printable(name)}: {size:,} members, {rated}")
        parts.append(
            f'<rect x="{one.x:.1f}" y="{one.y:.1f}" width="{one.width:.1f}" height="{one.height:.1f}" '
            f'fill="{fill}" stroke="#fff"><title>{told}</title></rect>'
        )
        letters = int(one.width / _LETTER) - 1
        if one.height >= 2 * _LINE and letters >= _FEWEST_LETTERS:
            shown = printable(name)
            shown = shown if len(shown) <= letters else f"{shown[: letters - 1]}…"
            ink = "#fff" if share > _DARK_FROM else "#1d2126"
            at = (one.x + 4, one.y + _LINE)
            parts.append(f'<g fill="{ink}">{_text(*at, shown, anchor="start")}')
            parts.append(f"{_text(at[0], at[1] + _LINE, f'{size:,}', anchor='start')}</g>")
    return _picture(title, "".join([*parts, "</svg>"]))


def _picture(title: str, svg: str) -> Markdown:
    held = base64.b64encode(svg.encode()).decode()
    return Markdown(f"![{title}](data:image/svg+xml;base64,{held})")


def _opening(width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11" fill="#333">'
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
    )


def _svg(counts: Sequence[int], edges: Sequence[float], title: str, x_label: str) -> str:
    wide, high, base = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM, _HEIGHT - _BOTTOM
    step, highest = wide / len(counts), max(counts)
    parts = [_opening(_WIDTH, _HEIGHT), _text(_WIDTH / 2, 18, title, size=13)]
    for place, count in enumerate(counts):
        tall = count / highest * high
        parts.append(
            f'<rect x="{_LEFT + place * step:.1f}" y="{base - tall:.1f}" width="{step * 0.92:.1f}" '
            f'height="{tall:.1f}" fill="#3b6ea5"><title>{count}</title></rect>'
        )
    parts.append(f'<path d="M{_LEFT} {_TOP}V{base}H{_WIDTH - _RIGHT}" fill="none" stroke="#333"/>')
    for share in (0.0, 0.5, 1.0):
        edge = edges[0] + share * (edges[-1] - edges[0])
        parts.append(_text(_LEFT + share * wide, base + 15, f"{edge:,.4g}"))
    parts += [
        _text(_LEFT - 5, _TOP + 4, f"{highest:,}", anchor="end"),
        _text(_LEFT - 5, base + 4, "0", anchor="end"),
        _text(_LEFT + wide / 2, _HEIGHT - 8, x_label),
        "</svg>",
    ]
    return "".join(parts)


def _text(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'
