"""Coordinates for a graph with communities: ForceAtlas2 from a start that knows the communities.

The forces and the adaptive speed are those of Jacomy et al. 2014 (PLoS ONE 9(6) e98679), which the paper's
Figure 4 is laid out with; the start takes the place of OpenORD. There are no random numbers in it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
#: Rows of the matrix of distances at once: a block stays in the processor's cache.
_BLOCK = 32
_REPULSION, _GRAVITY = 1.0, 1.0
#: How fast points that go straight may move, and how far one may go in a step.
_LOCAL_SPEED, _FARTHEST = 0.1, 10.0
_MOST_RISE = 1.5
_COARSE_STEPS, _FINE_STEPS = 250, 150


def community_layout(
    source: Indices, target: Indices, weight: Floats, communities: Sequence[Indices]
) -> Floats:
    """Return coordinates, shape [nodes, 2], around 0: linked nodes are near each other, communities apart.

    The communities of each level are laid out as a graph of their own, beginning around the places of their
    parents; the nodes begin around the places of their deepest communities.

    Args:
        source: one end of each edge, 0…nodes-1, shape [edges].
        target: the other end.
        weight: of each edge, positive; its logarithm attracts.
        communities: of each level from the coarsest on the community of each node, numbered 0…, shape
            [nodes]; a community lies inside one of the level before.
    """
    pull = 1 + np.log(np.maximum(weight, 1.0))
    nodes = np.arange(len(communities[0]), dtype=np.int64)
    places, parents = np.zeros((1, 2)), np.zeros_like(nodes)
    for groups, steps in [*((level, _COARSE_STEPS) for level in communities), (nodes, _FINE_STEPS)]:
        sizes = np.bincount(groups).astype(np.float64)
        parent = np.zeros(len(sizes), dtype=np.int64)
        parent[groups] = parents
        places = force_layout(
            _around(places, parent, sizes), groups[source], groups[target], pull, sizes, steps
        )
        parents = groups
    centred: Floats = places - places.mean(axis=0)
    return centred


def force_layout(
    start: Floats, source: Indices, target: Indices, weight: Floats, sizes: Floats, steps: int
) -> Floats:
    """Move points by ForceAtlas2 with logarithmic attraction; every pair repels.

    Args:
        start: shape [points, 2], no two alike.
        source: one end of each edge, shape [edges]; edges may be there more than once.
        target: the other end.
        weight: of each edge.
        sizes: how many nodes a point stands for, shape [points].
        steps: how often all points move.
    """
    apart = source != target
    source, target, weight = source[apart], target[apart], weight[apart]
    mass = sizes + np.bincount(np.concatenate([source, target]), minlength=len(start))
    places, before, speed = start.copy(), np.zeros_like(start), 1.0
    for _ in range(steps):
        force = _repulsion(places, mass) + _attraction(places, source, target, weight)
        outward = np.maximum(np.hypot(*places.T), 1e-9)
        force -= (_GRAVITY * mass / outward)[:, None] * places
        swing, straight = np.hypot(*(force - before).T), np.hypot(*(force + before).T) / 2
        wanted = (mass * straight).sum() / max((mass * swing).sum(), 1e-9)
        speed = min(float(wanted), speed * _MOST_RISE)
        step = _LOCAL_SPEED * speed / (1 + speed * np.sqrt(swing))
        places += force * np.minimum(step, _FARTHEST / np.maximum(np.hypot(*force.T), 1e-9))[:, None]
        before = force
    return places


def _around(places: Floats, parent: Indices, sizes: Floats) -> Floats:
    """Return a start for children: a disc around their parent's place, the largest in its middle."""
    order = np.lexsort((np.arange(len(parent)), -sizes, parent))
    counts = np.bincount(parent, minlength=len(places))
    rank = np.empty(len(parent), dtype=np.float64)
    rank[order] = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
    radius = _room(places)[parent] * np.sqrt((rank + 0.5) / counts[parent])
    angle = rank * _GOLDEN_ANGLE
    started: Floats = places[parent] + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return started


def _room(places: Floats) -> Floats:
    """Return half the distance of each place to the nearest other."""
    if len(places) < 2:
        return np.ones(len(places))
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    half: Floats = np.maximum(apart.min(axis=1) / 2, 1e-3)
    return half


def _repulsion(places: Floats, mass: Floats) -> Floats:
    # Neither matrix products nor threads: their sums depend on the number of processors.
    x, y = np.ascontiguousarray(places.T)
    force = np.empty_like(places)
    for begin in range(0, len(x), _BLOCK):
        end = min(begin + _BLOCK, len(x))
        right, up = x[begin:end, None] - x, y[begin:end, None] - y
        squared = right * right
        squared += up * up
        squared += 1e-9
        share = np.divide(mass, squared, out=squared)
        force[begin:end, 0] = np.einsum("ij,ij->i", share, right)
        force[begin:end, 1] = np.einsum("ij,ij->i", share, up)
    return _REPULSION * mass[:, None] * force


def _attraction(places: Floats, source: Indices, target: Indices, weight: Floats) -> Floats:
    along = places[target] - places[source]
    distance = np.maximum(np.hypot(*along.T), 1e-9)
    pull = along * (weight * np.log1p(distance) / distance)[:, None]
    force = np.empty_like(places)
    for axis in (0, 1):
        force[:, axis] = np.bincount(source, pull[:, axis], len(places))
        force[:, axis] -= np.bincount(target, pull[:, axis], len(places))
    return force
