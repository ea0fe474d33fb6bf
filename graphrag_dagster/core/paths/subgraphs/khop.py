"""Subgraphs of all that is near the seeds (spec_lego §3)."""

from collections.abc import Iterable

import numpy as np

from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.store import Longs, PathStore
from graphrag_dagster.core.paths.subgraph import Subgraph
from graphrag_dagster.core.paths.subgraphs.adjacency import Adjacency
from graphrag_dagster.core.paths.subgraphs.port import Extracted
from graphrag_dagster.core.paths.subgraphs.ranked import checked


class Neighbourhoods:
    """The nodes in so many hops of a seed, with all edges among them (KSE).

    Args:
        store: the graph.
        adjacency: where steps can go.
        hops: 0 or more.
    """

    def __init__(self, store: PathStore, adjacency: Adjacency, hops: int) -> None:
        self._store, self._adjacency, self._hops = store, adjacency, hops

    def extract(self, query: PathQuery) -> Extracted:
        """Return the neighbourhood of the seeds; see the port."""
        seeds = checked(self._store, query)
        near = within_hops(self._adjacency, np.asarray(seeds, dtype=np.int64), self._hops)
        return Extracted(Subgraph.of_nodes(self._store, near, seeds))

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Nothing is shared with others."""


def within_hops(adjacency: Adjacency, nodes: Longs, hops: int) -> Longs:
    """Return the nodes that can be reached in so many steps, in order."""
    seen = np.zeros(adjacency.nodes, dtype=np.bool_)
    seen[nodes] = True
    border = nodes
    for _ in range(hops):
        _, ends = adjacency.neighbours(border)
        border = np.unique(ends[~seen[ends]]).astype(np.int64)
        if not len(border):
            break
        seen[border] = True
    return np.flatnonzero(seen)
