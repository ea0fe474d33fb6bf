"""Points that lie on or over each other are moved apart."""

import numpy as np

from graphrag_dagster.core.graph.layout.bodies import Floats, Places, summed
from graphrag_dagster.core.graph.layout.discs import spiral

#: That neighbours should have at least; 1 is what they have on average in a community.
_DISTANCE = 0.6
_ROUNDS = 12
_DECIMALS = 3
_ASIDE = 0.01


def moved_apart(places: Floats) -> Floats:
    """Return points, shape [points, 2] in a fixed order, with few of them nearer than 0.6 to each other."""
    moved = _rounded(places)
    for _ in range(_ROUNDS):
        pairs = _near(moved)
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
            step += sign * summed(ends, push, len(moved))
        moved = _rounded(moved + step / np.sqrt(np.maximum(often, 1.0))[:, None])
    return moved


def _near(places: Floats) -> Places:
    """Return the pairs of points that are too near, shape [pairs, 2], sought in cells beside each other."""
    cell = np.floor(places / _DISTANCE).astype(np.int64)
    cell -= cell.min(axis=0, initial=0) - 1
    side = int(cell[:, 1].max(initial=0)) + 2
    key = cell[:, 0] * side + cell[:, 1]
    order = np.argsort(key, kind="stable")
    key, rank = key[order], np.arange(len(key))
    pairs = []
    for beside in (0, 1, side - 1, side, side + 1):
        first = np.searchsorted(key, key + beside, "left") if beside else rank + 1
        count = np.searchsorted(key, key + beside, "right") - first
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        pairs.append(order[np.column_stack([np.repeat(rank, count), np.repeat(first, count) + place])])
    found = np.sort(np.concatenate(pairs), axis=1)
    apart = places[found[:, 0]] - places[found[:, 1]]
    found = found[(apart**2).sum(axis=1) < _DISTANCE**2]
    ordered: Places = found[np.lexsort((found[:, 1], found[:, 0]))]
    return ordered


def told_apart(places: Floats) -> Floats:
    """Return the points rounded to 0.001; those at the place of an earlier one are moved until none is."""
    told = _rounded(places)
    attempt = 0
    while len(again := _repeated(told)):
        attempt += 1
        area = np.full(len(again), np.pi * (_ASIDE * attempt) ** 2)
        told[again] = _rounded(places[again] + spiral(again + attempt, area))
    return told


def _repeated(places: Floats) -> Places:
    _, first = np.unique(places, axis=0, return_index=True)
    return np.setdiff1d(np.arange(len(places)), first)


def _rounded(places: Floats) -> Floats:
    # Without the sign of zero.
    rounded: Floats = places.round(_DECIMALS) + 0.0
    return rounded
