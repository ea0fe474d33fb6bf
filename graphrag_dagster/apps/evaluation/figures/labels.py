"""Placement of labels so that they do not overlap."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

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
            _beside(array[index], sizes[index], direction, ring * factor)
            for factor, direction in product(_RINGS, (*_SIDES, *_BETWEEN))
        ]
        labels = list(placed.values())
        covered = [
            _overlap(box, taken)
            + _overlap(box, labels) * _GRAVE
            + _outside(box, within) * _GRAVE
            + sum(_overlap(dot, labels) for dot in _leader(array[index], box))
            for box in candidates
        ]
        placed[index] = candidates[int(np.argmin(covered))]
        taken += _leader(array[index], placed[index])
    return [placed[index] for index in range(len(points))]


def _beside(
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
    return sum(_shared(box, other) for other in others)


def _outside(box: Box, within: Box) -> float:
    left, bottom, right, top = box
    return (right - left) * (top - bottom) - _shared(box, within)


def _shared(one: Box, other: Box) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, wide) * max(0.0, high)
