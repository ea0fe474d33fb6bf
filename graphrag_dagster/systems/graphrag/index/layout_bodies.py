"""Points of a layout, their links, and their groups."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

#: Pull of an edge between two innermost groups, where one within is 1.
_ACROSS = 0.15


@dataclass(frozen=True, slots=True)
class Bodies:
    """Points and what acts upon them.

    Attributes:
        mass: of each point, 1 on average of the nodes, shape [points].
        source: one end of each edge, shape [edges].
        target: the other end.
        pull: of each edge; those of a node sum to twice its mass at most.
        groups: from the outermost on the group of each point, numbered 0…, shape [points].
        levels: how many levels of groups there are in all; as many as ``groups`` or more.
    """

    mass: Floats
    source: Places
    target: Places
    pull: Floats
    groups: Sequence[Places]
    levels: int


def bodies_of(source: Places, target: Places, weight: Floats, groups: Sequence[Places]) -> Bodies:
    """Return the nodes of a graph as points: the better linked a node is, the heavier.

    Args:
        source: one end of each edge, 0…nodes-1, shape [edges]; an edge of each pair at most, none of a node
            to itself.
        target: the other end.
        weight: of each edge, at least 0; its logarithm pulls.
        groups: from the outermost on the group of each node, numbered 0…, shape [nodes]; each lies inside one
            of those before.
    """
    nodes = len(groups[0])
    strength = 1 + np.log(np.maximum(weight, 1.0))
    strengths = np.bincount(source, strength, nodes) + np.bincount(target, strength, nodes)
    average = strengths.mean() if len(source) else 1.0
    inside = groups[-1][source] == groups[-1][target]
    return Bodies(
        mass=(1 + strengths / average) / 2,
        source=source,
        target=target,
        pull=strength / average * np.where(inside, 1.0, _ACROSS),
        groups=groups,
        levels=len(groups),
    )


def sum_by_index(index: Places, vectors: Floats, count: int) -> Floats:
    """Return the sums of vectors, shape [n, 2], by their index 0…count-1, shape [count, 2]."""
    return np.column_stack([np.bincount(index, vectors[:, axis], count) for axis in (0, 1)])


_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def discs(centres: Floats, parent: Places, mass: Floats) -> Floats:
    """Return points in discs of even density around the centres of their parents, the heaviest in the middle.

    Args:
        centres: shape [parents, 2].
        parent: of each point, shape [points].
        mass: of each point.
    """
    order = np.lexsort((np.arange(len(parent)), -mass, parent))
    counts = np.bincount(parent, minlength=len(centres))
    first = (np.cumsum(counts) - counts)[parent[order]]
    rank = np.arange(len(parent)) - first
    before = np.cumsum(mass[order]) - mass[order]
    inside = before - before[first] + mass[order] / 2
    points = np.empty((len(parent), 2))
    points[order] = centres[parent[order]] + spiral(rank, inside)
    return points


def spiral(rank: Places, area: Floats) -> Floats:
    """Return points on a spiral of golden angles: of each its number, and the area times π within it."""
    angle = rank * _GOLDEN_ANGLE
    points: Floats = np.sqrt(area / np.pi)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return points


#: That neighbours should have at least; 1 is what they have on average in a community.
_DISTANCE = 0.6
_ROUNDS = 12
_DECIMALS = 3
_ASIDE = 0.01


def push_apart(places: Floats) -> Floats:
    """Return points, shape [points, 2] in a fixed order, with few of them nearer than 0.6 to each other."""
    moved = _round_positions(places)
    for _ in range(_ROUNDS):
        pairs = _near_pairs(moved)
        if not len(pairs):
            break
        one, other = pairs.T
        along = moved[other] - moved[one]
        length = np.sqrt((along**2).sum(axis=1))
        # Of two at one place the second goes its own way.
        lost = length < 10.0**-_DECIMALS
        along[lost] = spiral(other[lost], np.full(int(lost.sum()), np.pi))
        push = along * ((_DISTANCE - length) / (2 * np.where(lost, 1.0, length)))[:, None]
        step, often = np.zeros_like(moved), np.zeros(len(moved))
        for ends, sign in ((one, -1.0), (other, 1.0)):
            often += np.bincount(ends, minlength=len(moved))
            step += sign * sum_by_index(ends, push, len(moved))
        moved = _round_positions(moved + step / np.sqrt(np.maximum(often, 1.0))[:, None])
    return moved


def _near_pairs(places: Floats) -> Places:
    """Return the pairs of points that are too near, shape [pairs, 2], sought in cells beside each other."""
    cell = np.floor(places / _DISTANCE).astype(np.int64)
    cell -= cell.min(axis=0, initial=0) - 1
    side = int(cell[:, 1].max(initial=0)) + 2
    key = cell[:, 0] * side + cell[:, 1]
    order = np.argsort(key, kind="stable")
    key, rank = key[order], np.arange(len(key))
    pairs = []
    for offset in (0, 1, side - 1, side, side + 1):
        first = np.searchsorted(key, key + offset, "left") if offset else rank + 1
        count = np.searchsorted(key, key + offset, "right") - first
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        pairs.append(order[np.column_stack([np.repeat(rank, count), np.repeat(first, count) + place])])
    found = np.sort(np.concatenate(pairs), axis=1)
    apart = places[found[:, 0]] - places[found[:, 1]]
    found = found[(apart**2).sum(axis=1) < _DISTANCE**2]
    ordered: Places = found[np.lexsort((found[:, 1], found[:, 0]))]
    return ordered


def separate_coincident(places: Floats) -> Floats:
    """Return the points rounded to 0.001; those at the place of an earlier one are moved until none is."""
    told = _round_positions(places)
    attempt = 0
    while len(again := _coincident_points(told)):
        attempt += 1
        area = np.full(len(again), np.pi * (_ASIDE * attempt) ** 2)
        told[again] = _round_positions(places[again] + spiral(again + attempt, area))
    return told


def _coincident_points(places: Floats) -> Places:
    _, first = np.unique(places, axis=0, return_index=True)
    return np.setdiff1d(np.arange(len(places)), first)


def _round_positions(places: Floats) -> Floats:
    # Without the sign of zero.
    rounded: Floats = places.round(_DECIMALS) + 0.0
    return rounded
