"""Points that lie on or over each other are moved apart."""

import numpy as np
from scipy.spatial import cKDTree

from graphrag_dagster.core.graph.layout.bodies import Floats, Places, summed
from graphrag_dagster.core.graph.layout.discs import spiral

_ROUNDS = 12
_DECIMALS = 3
_ASIDE = 0.01


def moved_apart(places: Floats, distance: float) -> Floats:
    """Return the points with few of them nearer to each other than a distance.

    Args:
        places: shape [points, 2], in a fixed order.
        distance: that neighbours should have at least.
    """
    moved = _rounded(places)
    for _ in range(_ROUNDS):
        pairs = _near(moved, distance)
        if not len(pairs):
            break
        one, other = pairs.T
        along = moved[other] - moved[one]
        length = np.sqrt((along**2).sum(axis=1))
        # Of two at one place the second goes its own way.
        lost = length < 10.0**-_DECIMALS
        along[lost] = spiral(other[lost], np.full(int(lost.sum()), np.pi))
        push = along * ((distance - length) / (2 * np.where(lost, 1.0, length)))[:, None]
        step, often = np.zeros_like(moved), np.zeros(len(moved))
        for ends, sign in ((one, -1.0), (other, 1.0)):
            often += np.bincount(ends, minlength=len(moved))
            step += sign * summed(ends, push, len(moved))
        moved = _rounded(moved + step / np.sqrt(np.maximum(often, 1.0))[:, None])
    return moved


def _near(places: Floats, distance: float) -> Places:
    if len(places) < 2:
        return np.empty((0, 2), dtype=np.int64)
    pairs = cKDTree(places).query_pairs(distance, output_type="ndarray").astype(np.int64)
    ordered: Places = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
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
