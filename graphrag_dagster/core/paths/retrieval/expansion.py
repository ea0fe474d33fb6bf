"""Which steps a growing path may make (spec_lego §4)."""

import numpy as np

from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.core.paths.retrieval.judging import Judging
from graphrag_dagster.core.paths.retrieval.walks import Ground, Walks
from graphrag_dagster.core.paths.store import Longs


class Expansion:
    """The steps that can be made from the ends of paths, at most ``cap`` from a node.

    Of more the best by the scores of their triples; or, with ``expansion: first``, the first by relation and
    node, one for each neighbour.

    Args:
        options: ``cap``, ``expansion`` and ``allow_revisit``.
        ground: in which is walked.
        judging: scores triples.
    """

    def __init__(self, options: PathOptions, ground: Ground, judging: Judging) -> None:
        self._options = options
        self.ground = ground
        self._judging = judging
        self._kept: dict[int, Longs] = {}

    def of(self, walks: Walks) -> tuple[Longs, Longs]:
        """Return every step that may be made: which walk makes it, and the step."""
        steps = self.ground.steps
        sizes = steps.starts[walks.ends + 1] - steps.starts[walks.ends]
        if self._options.expansion == "best" and (sizes <= self._options.cap).all():
            of, taken = walks.onwards(steps)
        else:
            each = [self._from(int(node)) for node in walks.ends]
            of = np.repeat(np.arange(len(walks)), [len(one) for one in each])
            taken = np.concatenate([np.zeros(0, dtype=np.int64), *each])
        if self._options.allow_revisit:
            return of, taken
        new = ~walks.revisits(of, taken, steps)
        return of[new], taken[new]

    def _from(self, node: int) -> Longs:
        """The steps from a node."""
        if node not in self._kept:
            steps, cap = self.ground.steps, self._options.cap
            found = np.arange(steps.starts[node], steps.starts[node + 1], dtype=np.int64)
            if self._options.expansion == "first":
                _, first = np.unique(steps.ends[found], return_index=True)
                found = found[np.sort(first)[:cap]]
            elif len(found) > cap:
                triples = self.ground.last_triples(np.full(len(found), node), found)
                found = found[np.sort(self._judging.best(triples, cap)[0])]
            self._kept[node] = found
        return self._kept[node]
