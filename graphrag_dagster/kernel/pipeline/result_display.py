"""Display of results: rows as Markdown, counts, small images."""

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
    """A rectangle: the corner nearest to the origin, width and height."""

    x: float
    y: float
    width: float
    height: float


def squarify(values: Sequence[float], frame: Rectangle) -> list[Rectangle]:
    """Divide a frame into rectangles with areas proportional to values, as close to squares as rows allow.

    Args:
        values: positive, in descending order.
        frame: the frame to divide; its area is not 0.

    Returns:
        one rectangle for each value, in their order.

    Raises:
        ValueError: a value is not positive, or larger than the previous one.
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
        laid, frame = _lay_out_row(row, frame)
        placed += laid
    return placed


def _treemap_row(areas: Sequence[float], side: float) -> Sequence[float]:
    """Return the next row along a side: as many areas as improve the worst aspect ratio."""
    taken = 1
    while taken < len(areas) and _worst_ratio(areas[: taken + 1], side) <= _worst_ratio(areas[:taken], side):
        taken += 1
    return areas[:taken]


def _worst_ratio(row: Sequence[float], side: float) -> float:
    depth = sum(row) / side
    return max(max(depth * depth / area, area / (depth * depth)) for area in (row[0], row[-1]))


def _lay_out_row(row: Sequence[float], frame: Rectangle) -> tuple[list[Rectangle], Rectangle]:
    """Lay a row along the shorter side of a frame; return its rectangles and the rest of the frame."""
    placed = []
    if frame.width >= frame.height:
        depth, y = sum(row) / frame.height, frame.y
        for area in row:
            placed.append(Rectangle(frame.x, y, depth, area / depth))
            y += area / depth
        return placed, Rectangle(frame.x + depth, frame.y, max(frame.width - depth, 0.0), frame.height)
    depth, x = sum(row) / frame.width, frame.x
    for area in row:
        placed.append(Rectangle(x, frame.y, area / depth, depth))
        x += area / depth
    return placed, Rectangle(frame.x, frame.y + depth, frame.width, max(frame.height - depth, 0.0))


_Given = ParamSpec("_Given")
_MOST_BINS, _FEWEST_BINS = 30, 5
_WIDTH, _HEIGHT = 450, 234
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 30, 42
_MAP_WIDTH, _MAP_HEIGHT = 720, 420
#: Colours of the lowest and highest rating, and the share of it from which letters are white.
_PALE, _DEEP = (226, 238, 247), (8, 64, 107)
_DARK_FROM = 0.55
_WIDEST = 1e300
_CELL = 60
_LETTER, _LINE, _FEWEST_LETTERS = 6.2, 14, 6


class Markdown(str):
    """A text displayed as Markdown."""


class Url(str):
    """An address displayed as a link."""


class FilePath(str):
    """The path of a file."""


def rows_of(frame: pl.DataFrame) -> Markdown:
    """Return a frame as a Markdown table with shortened cells."""
    lines = [_row(frame.columns), _row("---" for _ in frame.columns)]
    lines += [_row(_cell(value) for value in row) for row in frame.iter_rows()]
    return Markdown("\n".join(lines))


def inline_code(text: str) -> str:
    """Return words of documents as inline code for a table, so that no link, image or HTML is rendered."""
    shown = printable(text).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}" if shown.strip() else ""


def counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """Return the frequency of each value of the column, sorted by value."""
    return dict(frame.group_by(column).len().sort(column).iter_rows())


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    cut = text if len(text) <= _CELL else text[: _CELL - 1] + "…"
    return cut if isinstance(value, bool | int | float) else inline_code(cut)


def _or_error_note(
    draw: Callable[_Given, Markdown],
) -> Callable[_Given, Markdown]:
    """Make a drawing function return an error message instead of failing the run."""

    @wraps(draw)
    def drawn(*args: _Given.args, **kwargs: _Given.kwargs) -> Markdown:
        try:
            return draw(*args, **kwargs)
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            return Markdown(f"this could not be drawn: {escape(error_line(error))}")

    return drawn


@_or_error_note
def histogram(values: Sequence[float], title: str, x_label: str) -> Markdown:
    """Return a histogram as an SVG image in Markdown, or a message if there are no values.

    Non-finite values are omitted and counted.
    """
    array = np.asarray(values, dtype=np.float64)
    finite = array[np.isfinite(array)]
    # The difference of two huge numbers would overflow.
    shown = finite[np.abs(finite) <= _WIDEST]
    left_out = len(array) - len(shown)
    note = f"{left_out:,} values that are too large, or not numbers, are omitted" if left_out else ""
    if not len(shown):
        return Markdown(note or "no values")
    bins = min(_MOST_BINS, max(_FEWEST_BINS, len(np.unique(shown))))
    counts, edges = np.histogram(shown, bins=bins)
    picture = _picture(title, _svg(counts.tolist(), edges.tolist(), title, x_label))
    return Markdown(f"{picture}\n\n{note}") if note else picture


@_or_error_note
def treemap(cells: Sequence[tuple[str, int, float | None]], title: str) -> Markdown:
    """Return a treemap as an SVG image in Markdown, or a message if there are no cells.

    Args:
        cells: title, size and rating (0–10, darker if higher; None if unrated) of each, by descending size.
        title: title of the image.
    """
    if not cells:
        return Markdown("no communities")
    frame = Rectangle(0, 26, _MAP_WIDTH, _MAP_HEIGHT - 26)
    parts = [_opening(_MAP_WIDTH, _MAP_HEIGHT), _text(_MAP_WIDTH / 2, 18, title, size=13)]
    for (name, size, rating), box in zip(cells, squarify([cell[1] for cell in cells], frame), strict=True):
        share = 0.0 if rating is None else min(max(rating / 10, 0.0), 1.0)
        fill = "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(_PALE, _DEEP, strict=True))
        rated = "not rated" if rating is None else f"rating {rating:.1f}"
        tooltip = escape(f"{printable(name)}: {size:,} members, {rated}")
        parts.append(
            f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
            f'fill="{fill}" stroke="#fff"><title>{tooltip}</title></rect>'
        )
        letters = int(box.width / _LETTER) - 1
        if box.height >= 2 * _LINE and letters >= _FEWEST_LETTERS:
            shown = printable(name)
            shown = shown if len(shown) <= letters else f"{shown[: letters - 1]}…"
            ink = "#fff" if share > _DARK_FROM else "#1d2126"
            at = (box.x + 4, box.y + _LINE)
            parts.append(f'<g fill="{ink}">{_text(*at, shown, anchor="start")}')
            parts.append(f"{_text(at[0], at[1] + _LINE, f'{size:,}', anchor='start')}</g>")
    return _picture(title, "".join([*parts, "</svg>"]))


def _picture(title: str, svg: str) -> Markdown:
    encoded = base64.b64encode(svg.encode()).decode()
    return Markdown(f"![{title}](data:image/svg+xml;base64,{encoded})")


def _opening(width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11" fill="#333">'
        f'<rect width="{width}" height="{height}" fill="#fff"/>'
    )


def _svg(counts: Sequence[int], edges: Sequence[float], title: str, x_label: str) -> str:
    width, height, base = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM, _HEIGHT - _BOTTOM
    step, highest = width / len(counts), max(counts)
    parts = [_opening(_WIDTH, _HEIGHT), _text(_WIDTH / 2, 18, title, size=13)]
    for index, count in enumerate(counts):
        bar_height = count / highest * height
        parts.append(
            f'<rect x="{_LEFT + index * step:.1f}" y="{base - bar_height:.1f}" width="{step * 0.92:.1f}" '
            f'height="{bar_height:.1f}" fill="#3b6ea5"><title>{count}</title></rect>'
        )
    parts.append(f'<path d="M{_LEFT} {_TOP}V{base}H{_WIDTH - _RIGHT}" fill="none" stroke="#333"/>')
    for share in (0.0, 0.5, 1.0):
        edge = edges[0] + share * (edges[-1] - edges[0])
        parts.append(_text(_LEFT + share * width, base + 15, f"{edge:,.4g}"))
    parts += [
        _text(_LEFT - 5, _TOP + 4, f"{highest:,}", anchor="end"),
        _text(_LEFT - 5, base + 4, "0", anchor="end"),
        _text(_LEFT + width / 2, _HEIGHT - 8, x_label),
        "</svg>",
    ]
    return "".join(parts)


def _text(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'
