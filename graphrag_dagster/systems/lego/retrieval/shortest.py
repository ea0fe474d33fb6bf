"""SBR-SPR: one shortest path from each seed to whatever it reaches (spec_lego §4)."""

import re

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.arrays import PathStore
from graphrag_dagster.systems.lego.instances.found import PathQuery, Paths
from graphrag_dagster.systems.lego.instances.options import PathOptions
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.retrieval.ordering import Ordering
from graphrag_dagster.systems.lego.retrieval.port import Retrieved
from graphrag_dagster.systems.lego.retrieval.walks import Ground, Walks

_UNKNOWN, _NAME, _ID = np.int8(-1), np.int8(0), np.int8(1)


class ShortestPaths:
    """One shortest path from each seed to each node that it reaches in ``max_hop`` steps, unscored.

    Of several the one that a breadth-first search comes by which looks at neighbours by relation, then node:
    of parallel edges that with the first relation. Nodes whose labels are ids, as ``skip_ids`` has them, are
    walked through, but are no targets.

    Args:
        options: ``direction``, ``max_hop``, ``skip_ids`` and ``ties``.
        store: the graph.
    """

    def __init__(self, options: PathOptions, store: PathStore) -> None:
        self._followed = store.followed(options.direction)
        self._hops = options.max_hop
        self._ids = re.compile(options.skip_ids) if options.skip_ids else None
        self._is_id: NDArray[np.int8] = np.full(len(store.labels) if self._ids else 0, _UNKNOWN)
        self._ordering = Ordering(options.ties, store)

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> Retrieved:
        """Return the paths, short ones first; see the port."""
        ground = Ground(subgraph, subgraph.steps(self._followed))
        parts = [Paths.none(subgraph.store)]
        for seed in query.seeds:
            parts += self._from(ground.begun_at((seed,)), ground)
        paths = Paths.joined(parts)
        return Retrieved(paths.at(self._ordering.order(paths, query.seeds)))

    def _from(self, walks: Walks, ground: Ground) -> list[Paths]:
        """The paths from one seed, by their lengths."""
        visited = np.zeros(len(ground.subgraph.nodes), dtype=np.bool_)
        visited[walks.ends] = True
        found: list[Paths] = []
        for _ in range(self._hops):
            of, taken = walks.onwards(ground.steps)
            new = ~visited[ground.steps.ends[taken]]
            of, taken = of[new], taken[new]
            _, first = np.unique(ground.steps.ends[taken], return_index=True)
            if not len(first):
                break
            first.sort()
            walks = walks.longer(of[first], taken[first], ground.steps)
            visited[walks.ends] = True
            found.append(ground.paths(walks.at(np.flatnonzero(self._are_targets(ground, walks)))))
        return found

    def _are_targets(self, ground: Ground, walks: Walks) -> NDArray[np.bool_]:
        """Whether the last node of each walk has a label that is no id."""
        if self._ids is None:
            return np.ones(len(walks), dtype=np.bool_)
        labels = ground.labels(walks.ends)
        for label in labels[self._is_id[labels] == _UNKNOWN].tolist():
            is_id = self._ids.fullmatch(ground.subgraph.store.labels[label])
            self._is_id[label] = _ID if is_id else _NAME
        found: NDArray[np.bool_] = self._is_id[labels] == _NAME
        return found
