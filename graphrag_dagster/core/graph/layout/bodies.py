"""Points of a layout, what links them, and the groups in which they are."""

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


def summed(index: Places, vectors: Floats, count: int) -> Floats:
    """Return the sums of vectors, shape [n, 2], by their index 0…count-1, shape [count, 2]."""
    return np.column_stack([np.bincount(index, vectors[:, axis], count) for axis in (0, 1)])
