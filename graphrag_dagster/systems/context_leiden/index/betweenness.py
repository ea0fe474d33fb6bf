"""Betweenness centrality by Brandes' algorithm, from all nodes or a sample (paper §III.A, step 3).

Numbers of shortest paths and dependencies are kept of every pair of a node and a source, and all sources go
a level down or up at once. A level with few pairs goes by the neighbours of each; one with many by the
product of the whole graph with what it holds, which takes less time a neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.systems.context_leiden.index.cosine_similarity import Doubles, blocks

if TYPE_CHECKING:
    from graphrag_dagster.systems.context_leiden.index.graph_neighbours import NeighbourLists, Places
    from graphrag_dagster.systems.context_leiden.settings import ContextSettings


#: How many times longer a neighbour takes on its own than in the product of the whole graph.
_ALONE = 64
_Flags = NDArray[np.bool_]


class Sweep:
    """Shortest paths from some sources; the number of a pair is node · sources + source.

    Args:
        graph: the edges.
        matrix: the same as a sparse matrix.
        sources: distinct nodes.
    """

    def __init__(self, graph: NeighbourLists, matrix: Any, sources: Places) -> None:
        self._graph, self._matrix, self._sources = graph, matrix, sources
        self._width = len(sources)
        pairs = graph.nodes * self._width
        self._depth = np.full(pairs, -1, dtype=np.int32)
        self._paths = np.zeros(pairs)
        self._share = np.zeros(pairs)
        self._claim = np.zeros(pairs, dtype=np.int32)
        begin = sources * self._width + np.arange(self._width)
        self._depth[begin] = 0
        self._paths[begin] = 1
        #: The pairs of each distance; None where they are many.
        self._levels: list[Places | None] = [begin]

    def dependencies(self) -> Doubles:
        """Return of every node the share of the shortest paths that lead through it, summed over sources."""
        self._descend()
        for level in range(len(self._levels) - 2, 0, -1):
            self._ascend(level)
        shares: Doubles = self._grid(self._share).sum(axis=1)
        return shares

    def _descend(self) -> None:
        level = 0
        while True:
            pairs = self._levels[level]
            level += 1
            few = self._by_product(level) if pairs is None else self._by_neighbours(pairs, level)
            if few is not None and not len(few):
                return
            self._levels.append(few)

    def _by_neighbours(self, pairs: Places, level: int) -> Places | None:
        owner, around = self._adjacent_pairs(pairs)
        fresh = self._depth[around] < 0
        around = around[fresh]
        np.add.at(self._paths, around, self._paths[owner[fresh]])
        self._depth[around] = level
        met = self._distinct_pairs(around)
        degrees = self._graph.degrees[met // self._width]
        return met if self._is_cheap(int(degrees.sum())) else None

    def _by_product(self, level: int) -> Places | None:
        held = np.where(self._depth == level - 1, self._paths, 0.0)
        found = (self._matrix @ self._grid(held)).ravel()
        met: _Flags = (found > 0) & (self._depth < 0)
        np.copyto(self._paths, found, where=met)
        self._depth[met] = level
        neighbours = int(self._graph.degrees @ self._grid(met).sum(axis=1))
        return np.flatnonzero(met) if self._is_cheap(neighbours) else None

    def _ascend(self, level: int) -> None:
        """Give the pairs of a level their shares of what depends on the next."""
        pairs, below = self._levels[level], self._levels[level + 1]
        if pairs is not None:
            owner, around = self._adjacent_pairs(pairs)
            after = self._depth[around] == level + 1
            owner, around = owner[after], around[after]
            np.add.at(self._share, owner, self._paths[owner] * self._share_upwards(around))
        elif below is not None:
            owner, around = self._adjacent_pairs(below)
            before = self._depth[around] == level
            owner, around = owner[before], around[before]
            np.add.at(self._share, around, self._paths[around] * self._share_upwards(owner))
        else:
            held = np.zeros_like(self._share)
            np.divide(1 + self._share, self._paths, out=held, where=self._depth == level + 1)
            found = (self._matrix @ self._grid(held)).ravel()
            np.multiply(found, self._paths, out=self._share, where=self._depth == level)

    def _share_upwards(self, pairs: Places) -> Doubles:
        return (1 + self._share[pairs]) / self._paths[pairs]

    def _adjacent_pairs(self, pairs: Places) -> tuple[Places, Places]:
        """Return the pairs next to these, each with the one that it is next to."""
        nodes, source = np.divmod(pairs, self._width)
        begins, around = self._graph.neighbours_of(nodes)
        counts = np.diff(begins, append=len(around))
        return np.repeat(pairs, counts), around * np.int64(self._width) + np.repeat(source, counts)

    def _distinct_pairs(self, pairs: Places) -> Places:
        """Return each pair once: where it comes last, without sorting."""
        places = np.arange(len(pairs), dtype=np.int32)
        self._claim[pairs] = places
        last: _Flags = self._claim[pairs] == places
        return pairs[last]

    def _is_cheap(self, neighbours: int) -> bool:
        return neighbours * _ALONE < len(self._graph.neighbours) * self._width

    def _grid(self, flat: NDArray[Any]) -> NDArray[Any]:
        return flat.reshape(self._graph.nodes, self._width)


#: Pairs of a node and a source that are held at once.
_PAIRS = 2**24
_SOURCES = 1024


def centrality(graph: NeighbourLists, options: ContextSettings) -> Doubles:
    """Return the normalised betweenness of every node, 0–1.

    Exact up to ``options.exact_up_to`` nodes, beyond estimated from ``options.pivots``.

    Raises:
        GraphragError: see :func:`betweenness`.
    """
    exact = graph.nodes <= options.exact_up_to
    found = betweenness(graph, None if exact else options.pivots, options.seed)
    if options.centrality == "max":
        largest = float(found.max(initial=0.0))
    else:
        largest = (graph.nodes - 1) * (graph.nodes - 2) / 2
    return np.minimum(found / largest, 1.0) if largest > 0 else found


def betweenness(graph: NeighbourLists, pivots: int | None = None, seed: int = 0) -> Doubles:
    """Return how many shortest paths lead through each node: unweighted, undirected, ends excluded.

    Args:
        graph: the edges.
        pivots: nodes from which it is estimated (Brandes and Pich 2007): the sum over their paths times
            nodes / pivots; None or as many as there are nodes: exact.
        seed: of the pivots, drawn without repeats.

    Raises:
        GraphragError: two nodes have more shortest paths than a double can hold, 10³⁰⁸.
    """
    total = np.zeros(graph.nodes)
    if not len(graph.neighbours):
        return total
    chosen = np.arange(graph.nodes)
    if pivots is not None and pivots < graph.nodes:
        chosen = np.sort(np.random.default_rng(seed).choice(graph.nodes, pivots, replace=False))
    matrix = graph.matrix()
    # What overflows is looked for once, below.
    with np.errstate(over="ignore", invalid="ignore"):
        for some in blocks(len(chosen), min(max(_PAIRS // graph.nodes, 1), _SOURCES)):
            total += Sweep(graph, matrix, chosen[some]).dependencies()
    if not np.isfinite(total).all():
        raise GraphragError(
            "The graph has nodes with more than 10^308 shortest paths between them, of which no betweenness "
            "can be computed: it is a lattice rather than a graph of things in texts; see graph.relationships"
        )
    return total * (graph.nodes / len(chosen) / 2)
