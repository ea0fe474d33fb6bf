"""In which order paths stand that nothing scores; answers are made of the first ones (spec_lego §4)."""

from functools import cached_property

import numpy as np

from graphrag_dagster.kernel.graph.arrays import Longs, PathStore
from graphrag_dagster.systems.lego.instances.found import Paths
from graphrag_dagster.systems.lego.instances.options import TieRule


class Ordering:
    """Short paths before long ones; those of equal length by a rule, and then as they come.

    Args:
        ties: by the target, by the seed and then the target, or by the edges of the target, few before many,
            and then the target; edges out of it and into it count.
        store: the graph.
    """

    def __init__(self, ties: TieRule, store: PathStore) -> None:
        self._ties = ties
        self._store = store

    def order(self, paths: Paths, seeds: tuple[int, ...]) -> Longs:
        """Return the places of paths in order.

        Args:
            paths: those of each seed in any order of their lengths.
            seeds: from which they begin, in order.
        """
        ends = paths.ends
        known = np.asarray(seeds, dtype=np.int64)
        rising = np.argsort(known)
        seed = rising[np.searchsorted(known[rising], paths.nodes[:, 0])] if len(paths) else ends
        keys: tuple[Longs, ...] = (ends, seed)
        if self._ties == "target":
            keys = (seed, ends)
        elif self._ties == "hub_last":
            keys = (seed, ends, self._degrees[ends])
        found: Longs = np.lexsort((*keys, paths.lengths))
        return found

    @cached_property
    def _degrees(self) -> Longs:
        return self._store.degrees("both")
