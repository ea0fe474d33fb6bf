"""Points of a layout, what links them, and the groups in which they are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


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


def summed(index: Places, vectors: Floats, count: int) -> Floats:
    """Return the sums of vectors, shape [n, 2], by their index 0…count-1, shape [count, 2]."""
    return np.column_stack([np.bincount(index, vectors[:, axis], count) for axis in (0, 1)])
