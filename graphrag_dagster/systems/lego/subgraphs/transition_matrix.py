"""The transitions of a random walk on a graph: as sparse products, and as the neighbours of nodes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import expand_ranges
from graphrag_dagster.kernel.graph.adjacency_arrays import Followed, Ints, Longs, PathStore

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
    def of(cls, adjacency: "WalkTransitions") -> "WalkProducts":
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
    return csr_array((ones, place[ends[expand_ranges(starts, order)]], rows), shape=(len(order), len(order)))


__all__ = ["Mass", "WalkTransitions", "adjacency_of"]


@dataclass(frozen=True, eq=False)
class WalkTransitions:
    """The edges that a walk can follow, from both ends; parallel ones count.

    Attributes:
        followed: in which directions.
        out_starts: where the edges of each head begin, and the last end [n + 1].
        tails: of the edges by head [m].
        in_starts: where the edges of each tail begin, and the last end [n + 1].
        heads: of the edges by tail [m].
    """

    followed: Followed
    out_starts: Longs
    tails: Ints
    in_starts: Longs
    heads: Ints

    @classmethod
    def of_edges(cls, heads: Ints, tails: Ints, count: int, followed: Followed) -> "WalkTransitions":
        """Return that of edges among so many nodes, in any order."""
        by_head, by_tail = np.lexsort((tails, heads)), np.lexsort((heads, tails))
        out_starts, in_starts = np.zeros((2, count + 1), dtype=np.int64)
        np.cumsum(np.bincount(heads, minlength=count), out=out_starts[1:])
        np.cumsum(np.bincount(tails, minlength=count), out=in_starts[1:])
        return cls(followed, out_starts, tails[by_head], in_starts, heads[by_tail])

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.out_starts) - 1

    @property
    def edges(self) -> int:
        """How many edges can be followed; one that can be followed both ways is two."""
        return len(self.tails) * (2 if self.followed == "both" else 1)

    @cached_property
    def degrees(self) -> Longs:
        """How many edges can be followed from each node [n]."""
        out: Longs = np.diff(self.out_starts)
        return out + np.diff(self.in_starts) if self.followed == "both" else out

    @cached_property
    def products(self) -> WalkProducts:
        """A step of the walk from all nodes at once."""
        return WalkProducts.of(self)

    def spread(self, mass: Mass) -> Mass:
        """Return where the mass of each node [n] is after one step of the walk; that of dead ends is lost."""
        products = self.products
        return products.unordered(products.step(products.ordered(mass) * products.part))

    def neighbours(self, nodes: Longs) -> tuple[Longs, Ints]:
        """Return the ends of all edges that can be followed from nodes, and the place of each one's node."""
        out = expand_ranges(self.out_starts, nodes)
        places = np.repeat(np.arange(len(nodes)), self.out_starts[nodes + 1] - self.out_starts[nodes])
        if self.followed == "out":
            return places, self.tails[out]
        into = expand_ranges(self.in_starts, nodes)
        more = np.repeat(np.arange(len(nodes)), self.in_starts[nodes + 1] - self.in_starts[nodes])
        return np.concatenate([places, more]), np.concatenate([self.tails[out], self.heads[into]])

    def neighbour(self, nodes: Longs, turns: Longs) -> Longs:
        """Return the end of one edge of each node, by its turn among those that can be followed [k]."""
        if self.followed == "out":
            ends: Longs = self.tails[self.out_starts[nodes] + turns].astype(np.int64)
            return ends
        own = self.out_starts[nodes + 1] - self.out_starts[nodes]
        found = np.empty(len(nodes), dtype=np.int64)
        out = turns < own
        found[out] = self.tails[(self.out_starts[nodes] + turns)[out]]
        found[~out] = self.heads[(self.in_starts[nodes] + turns - own)[~out]]
        return found


def adjacency_of(store: PathStore, followed: Followed) -> WalkTransitions:
    """Return where a walk on a graph can go; made once for each graph, its edges by head are not copied."""
    made = _MADE.setdefault(store, {})
    if followed not in made:
        heads = np.asarray(store.heads)[store.in_edges]
        made[followed] = WalkTransitions(followed, store.out_starts, store.tails, store.in_starts, heads)
    return made[followed]


_MADE: WeakKeyDictionary[PathStore, dict[Followed, WalkTransitions]] = WeakKeyDictionary()
