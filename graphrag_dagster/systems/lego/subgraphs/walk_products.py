"""One step of a random walk on a whole graph, as sparse products."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.arrays import Ints, Longs, spans

if TYPE_CHECKING:
    from graphrag_dagster.systems.lego.subgraphs.adjacency import Adjacency

Mass = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WalkProducts:
    """The matrices of a graph whose nodes are ordered by degree, the highest first.

    A product takes half the time that it takes in the order of the store, since long rows come together and
    most of what they read is in a cache. Products with several columns at once were measured to be slower.

    Attributes:
        order: the nodes [n].
        part: the part of a node's mass that each of its edges takes [n], in this order as all that follows.
        into: heads by tail [n, n].
        out: tails by head [n, n], where edges are followed in both directions.
    """

    order: Longs
    part: Mass
    into: Any
    out: Any | None

    @classmethod
    def of(cls, adjacency: "Adjacency") -> "WalkProducts":
        """Return the matrices of a graph; both have the same ones, and no third is made."""
        degrees = adjacency.degrees
        order = np.argsort(-degrees, kind="stable").astype(np.int64)
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        ones = np.ones(len(adjacency.tails))
        into = _matrix(adjacency.in_starts, adjacency.heads, order, place, ones)
        both = adjacency.followed == "both"
        out = _matrix(adjacency.out_starts, adjacency.tails, order, place, ones) if both else None
        return cls(order, 1.0 / np.maximum(degrees[order], 1), into, out)

    def step(self, shares: Mass) -> Mass:
        """Return what comes to each node [n] of the shares that edges carry [n]: mass times :attr:`part`."""
        found: Mass = self.into @ shares
        if self.out is not None:
            found += self.out @ shares
        return found

    def ordered(self, mass: Mass) -> Mass:
        """Return the mass of nodes of the store [n] in this order."""
        return mass[self.order]

    def unordered(self, mass: Mass) -> Mass:
        """Return the mass of nodes in this order [n] in that of the store."""
        found = np.empty_like(mass)
        found[self.order] = mass
        return found


def _matrix(starts: Longs, ends: Ints, order: Longs, place: Ints, ones: Mass) -> Any:
    from scipy.sparse import csr_array

    rows = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum((starts[1:] - starts[:-1])[order], out=rows[1:])
    return csr_array((ones, place[ends[spans(starts, order)]], rows), shape=(len(order), len(order)))
