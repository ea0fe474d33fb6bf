"""Where a random walk on a graph can go: as sparse products, and as the neighbours of nodes."""

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from graphrag_dagster.kernel.graph.arrays import Followed, Ints, Longs, PathStore, spans
from graphrag_dagster.systems.lego.subgraphs.walk_products import Mass, WalkProducts

__all__ = ["Adjacency", "Mass", "adjacency_of"]


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


def adjacency_of(store: PathStore, followed: Followed) -> Adjacency:
    """Return where a walk on a graph can go; made once for each graph, its edges by head are not copied."""
    made = _MADE.setdefault(store, {})
    if followed not in made:
        heads = np.asarray(store.heads)[store.in_edges]
        made[followed] = Adjacency(followed, store.out_starts, store.tails, store.in_starts, heads)
    return made[followed]


_MADE: WeakKeyDictionary[PathStore, dict[Followed, Adjacency]] = WeakKeyDictionary()
