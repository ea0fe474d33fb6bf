"""Subgraphs of what random walks come by (spec_lego §3)."""

from collections.abc import Iterable

import numpy as np

from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.store import Longs, PathStore
from graphrag_dagster.core.paths.subgraph import Subgraph
from graphrag_dagster.core.paths.subgraphs.adjacency import Adjacency
from graphrag_dagster.core.paths.subgraphs.fora import stepped
from graphrag_dagster.core.paths.subgraphs.port import Extracted
from graphrag_dagster.core.paths.subgraphs.ranked import checked


class WalkedSubgraphs:
    """The nodes that walks from the seeds come by, with all edges among them.

    A walk ends at a dead end. Those from a node are the same in every question.

    Args:
        store: the graph.
        adjacency: where steps can go.
        walks: from each seed.
        steps: of a walk.
        seed: of chance.
    """

    def __init__(self, store: PathStore, adjacency: Adjacency, walks: int, steps: int, seed: int) -> None:
        self._store, self._adjacency = store, adjacency
        self._walks, self._steps, self._seed = walks, steps, seed

    def extract(self, query: PathQuery) -> Extracted:
        """Return what walks from the seeds come by; see the port."""
        seeds = checked(self._store, query)
        parts = [self._walked(seed) for seed in seeds]
        nodes = np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)
        return Extracted(Subgraph.of_nodes(self._store, nodes, seeds))

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Nothing is shared with others."""

    def _walked(self, start: int) -> Longs:
        drawn = np.random.default_rng([self._seed, start])
        at = [np.full(self._walks, start, dtype=np.int64)]
        for _ in range(self._steps):
            at.append(stepped(self._adjacency, at[-1], drawn))
        found: Longs = np.unique(np.concatenate(at))
        return found
