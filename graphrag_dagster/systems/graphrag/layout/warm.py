"""A layout from the previous one: known entities stay close to their positions, new ones go beside them."""

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.systems.graphrag.layout.bodies import Bodies, Floats, Places, discs, spiral, summed
from graphrag_dagster.systems.graphrag.layout.settling import settled

_STEPS = 40
#: Pull of the place where a point was; that of its groups and the middle together is 1.
_HOME = 0.5
#: How far from the centre of its group a point may have been to stay, in radii of the group's disc and one.
_NEAR = 3.0


def from_before(bodies: Bodies, before: Floats) -> Floats:
    """Return places around 0, shape [points, 2].

    Args:
        bodies: the points.
        before: where each of them was, NaN for those that are new.
    """
    known = np.isfinite(before[:, 0])
    start = _started(bodies, before, known)
    return settled(bodies, start, _STEPS, warm=True, home=np.where(known, _HOME, 0.0))


def in_their_groups(bodies: Bodies, before: Floats) -> NDArray[np.bool_]:
    """Return which points were near the others of their innermost groups: the rest belonged elsewhere.

    Args:
        bodies: the points.
        before: where each of them was, NaN for those that are new.
    """
    known, group = np.isfinite(before[:, 0]), bodies.groups[-1]
    count = np.bincount(group[known], minlength=int(group.max(initial=-1)) + 1)
    centres = summed(group[known], before[known], len(count)) / np.maximum(count, 1)[:, None]
    disc = np.sqrt(np.bincount(group, bodies.mass) / np.pi)
    away = np.sqrt(((before - centres[group]) ** 2).sum(axis=1))
    near: NDArray[np.bool_] = away <= _NEAR * (disc[group] + 1)
    return near


def _started(bodies: Bodies, before: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return a start for new points: beside those of their groups, else beside what is linked, or outside."""
    places, placed = before.copy(), known.copy()
    inside = bodies.groups[-1][bodies.source] == bodies.groups[-1][bodies.target]
    while not placed.all():
        found, beside = _beside_linked(bodies, inside, places, placed)
        if not len(found):
            found, beside = _in_groups(bodies, places, placed)
        if not len(found):
            found, beside = _beside_linked(bodies, ~inside, places, placed)
        if not len(found):
            found, beside = _outside(bodies, places, placed)
        places[found], placed[found] = beside, True
    return places


def _beside_linked(
    bodies: Bodies, edges: NDArray[np.bool_], places: Floats, placed: NDArray[np.bool_]
) -> tuple[Places, Floats]:
    nodes = len(placed)
    whole, sums = np.zeros(nodes), np.zeros((nodes, 2))
    for one, other in ((bodies.source, bodies.target), (bodies.target, bodies.source)):
        counts = edges & placed[one] & ~placed[other]
        whole += np.bincount(other[counts], bodies.pull[counts], nodes)
        sums += summed(other[counts], bodies.pull[counts, None] * places[one[counts]], nodes)
    found = np.flatnonzero(whole)
    return found, _spread(found, sums[found] / whole[found, None])


def _in_groups(bodies: Bodies, places: Floats, placed: NDArray[np.bool_]) -> tuple[Places, Floats]:
    for group in reversed(bodies.groups):
        count = np.bincount(group[placed], minlength=int(group.max(initial=0)) + 1)
        found = np.flatnonzero(~placed & (count[group] > 0))
        if len(found):
            centres = summed(group[placed], places[placed], len(count)) / np.maximum(count, 1)[:, None]
            return found, _spread(found, centres[group[found]])
    return np.empty(0, dtype=np.int64), np.empty((0, 2))


def _outside(bodies: Bodies, places: Floats, placed: NDArray[np.bool_]) -> tuple[Places, Floats]:
    found = np.flatnonzero(~placed)
    own, parent = np.unique(bodies.groups[0][found], return_inverse=True)
    edge = np.sqrt((places[placed] ** 2).sum(axis=1).max(initial=0.0))
    centres = spiral(own, np.full(len(own), np.pi * edge**2))
    return found, discs(centres, parent.reshape(-1).astype(np.int64), bodies.mass[found])


def _spread(points: Places, centres: Floats) -> Floats:
    """Return the points a little beside the centres, no two of one centre alike."""
    return centres + spiral(points, np.full(len(points), np.pi / 4))
