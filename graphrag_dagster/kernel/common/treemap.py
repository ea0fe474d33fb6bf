"""Rectangles whose areas stand for values: a squarified treemap (Bruls, Huizing, van Wijk 2000)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


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
        row = _row([value * scale for value in rest], min(frame.width, frame.height))
        laid, frame = _laid(row, frame)
        placed += laid
    return placed


def _row(areas: Sequence[float], side: float) -> Sequence[float]:
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
