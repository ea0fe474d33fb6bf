"""Where a random walk on a graph can go: as sparse products, and as the neighbours of nodes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.paths.store import Followed, Ints, Longs, PathStore, spans

Mass = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Adjacency:
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
    def of_edges(cls, heads: Ints, tails: Ints, count: int, followed: Followed) -> "Adjacency":
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

    def spread(self, mass: Mass) -> Mass:
        """Return where the mass of each node is after one step of the walk; that of dead ends is lost.

        Args:
            mass: [n], or [n, k] of k walks; each column comes out bit by bit as it does alone.
        """
        one_by_one = mass.reshape(-1) if mass.ndim == 1 or mass.shape[1] == 1 else mass
        shares = one_by_one * (self._part if one_by_one.ndim == 1 else self._part[:, None])
        found: Mass = self._into @ shares
        if self.followed == "both":
            found += self._out @ shares
        return found.reshape(mass.shape)

    def product(self, one: Mass, other: Mass) -> Mass:
        """Return the inner products [k] of columns [n, k], divided by the degrees of the nodes."""
        return sums(one * other * self._part[:, None])

    def neighbours(self, nodes: Longs) -> tuple[Longs, Ints]:
        """Return the ends of all edges that can be followed from nodes, and the place of each one's node."""
        out = spans(self.out_starts, nodes)
        places = np.repeat(np.arange(len(nodes)), self.out_starts[nodes + 1] - self.out_starts[nodes])
        if self.followed == "out":
            return places, self.tails[out]
        into = spans(self.in_starts, nodes)
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

    @cached_property
    def _part(self) -> Mass:
        """The part of a node's mass that each of its edges takes [n]."""
        return 1.0 / np.maximum(self.degrees, 1)

    @cached_property
    def _ones(self) -> Mass:
        return np.ones(len(self.tails))

    @cached_property
    def _into(self) -> Any:
        return self._matrix(self.heads, self.in_starts)

    @cached_property
    def _out(self) -> Any:
        return self._matrix(self.tails, self.out_starts)

    def _matrix(self, ends: Ints, starts: Longs) -> Any:
        from scipy.sparse import csr_array

        return csr_array((self._ones, ends, starts), shape=(self.nodes, self.nodes))


def sums(block: Mass) -> Mass:
    """Return the sum of each column [k]; added in an order that does not depend on the other columns."""
    found: Mass = np.ascontiguousarray(block.T).sum(axis=1)
    return found


def adjacency_of(store: PathStore, followed: Followed) -> Adjacency:
    """Return where a walk on a graph can go; made once for each graph, its edges by head are not copied."""
    made = _MADE.setdefault(store, {})
    if followed not in made:
        heads = np.asarray(store.heads)[store.in_edges]
        made[followed] = Adjacency(followed, store.out_starts, store.tails, store.in_starts, heads)
    return made[followed]


_MADE: WeakKeyDictionary[PathStore, dict[Followed, Adjacency]] = WeakKeyDictionary()
