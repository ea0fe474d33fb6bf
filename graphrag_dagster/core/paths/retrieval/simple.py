"""SBR-EPR: all paths from each seed that come to no node twice (spec_lego §4)."""

import numpy as np

from graphrag_dagster.core.paths.found import Paths
from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.retrieval.ordering import Ordering
from graphrag_dagster.core.paths.retrieval.port import Retrieved
from graphrag_dagster.core.paths.retrieval.walks import Ground, Walks
from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.core.paths.subgraph import Subgraph

#: Steps that are looked at together.
_AT_ONCE = 1_000_000


class SimplePaths:
    """All simple paths of up to ``max_hop`` steps, unscored; of more than ``most_paths`` the first.

    What is first: short ones, then those of the first seeds. Parallel edges make paths of their own.

    Args:
        options: ``direction``, ``max_hop``, ``most_paths`` and ``ties``.
        store: the graph.
    """

    def __init__(self, options: PathOptions, store: PathStore) -> None:
        self._followed = store.followed(options.direction)
        self._hops = options.max_hop
        self._most = options.most_paths
        self._ordering = Ordering(options.ties, store)

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> Retrieved:
        """Return the paths, short ones first; see the port. ``cut``: there are more."""
        ground = Ground(subgraph, subgraph.steps(self._followed))
        walks = ground.begun_at(query.seeds)
        parts, room = [Paths.none(subgraph.store)], self._most
        for _ in range(self._hops):
            # One more than there is room for tells whether there are more.
            walks = _longer(walks, ground, room + 1)
            parts.append(ground.paths(walks.at(np.arange(min(room, len(walks))))))
            room -= len(walks)
            if room < 0 or not len(walks):
                break
        paths = Paths.joined(parts)
        return Retrieved(paths.at(self._ordering.order(paths, query.seeds)), cut=room < 0)


def _longer(walks: Walks, ground: Ground, most: int) -> Walks:
    """The first walks that are a step longer and come to no node twice."""
    steps = ground.steps
    sizes = np.cumsum(steps.starts[walks.ends + 1] - steps.starts[walks.ends])
    parts, count, start = [walks.longer(*_NOTHING, steps)], 0, 0
    while start < len(walks) and count < most:
        done = sizes[start - 1] if start else 0
        end = max(int(np.searchsorted(sizes, done + _AT_ONCE, side="right")), start + 1)
        some = walks.at(np.arange(start, end))
        of, taken = some.onwards(steps)
        new = np.flatnonzero(~some.revisits(of, taken, steps))[: most - count]
        parts.append(some.longer(of[new], taken[new], steps))
        count, start = count + len(new), end
    return Walks(np.concatenate([one.nodes for one in parts]), np.concatenate([one.taken for one in parts]))


_NOTHING = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
