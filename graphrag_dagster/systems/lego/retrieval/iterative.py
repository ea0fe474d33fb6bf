"""ISAR: a beam of paths that grow from each seed (spec_lego §4, Algorithm 1).

Which steps a growing path may make (spec_lego §4).
"""

from collections.abc import Callable

import numpy as np

from graphrag_dagster.kernel.graph.arrays import Longs, PathStore
from graphrag_dagster.systems.lego.instances.found import PathQuery, Paths
from graphrag_dagster.systems.lego.instances.options import PathOptions
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.retrieval.choosing import Choice
from graphrag_dagster.systems.lego.retrieval.judging import Judging
from graphrag_dagster.systems.lego.retrieval.oneshot import refined
from graphrag_dagster.systems.lego.retrieval.port import Retrieved
from graphrag_dagster.systems.lego.retrieval.walks import Ground, Walks
from graphrag_dagster.systems.lego.scoring.port import PathScorer
from graphrag_dagster.systems.lego.tasks import PathSelector


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


class GrowingPaths:
    """Paths from each seed for itself: each step makes all paths a step longer and keeps a beam of them.

    Whatever was in a beam is found, so that the beginnings of a path are found, too. The paths of all seeds,
    each text once, are then ordered by the scores of the whole paths.

    Args:
        options: ``max_hop``, ``direction``, those of :class:`Expansion`, and the switches ``refine`` and
            ``early_stop``.
        store: the graph.
        choice: who chooses the beam for a question.
        scorer: scores.
        selector: selects, and says whether paths are enough; None where neither is asked for.
    """

    def __init__(
        self,
        options: PathOptions,
        store: PathStore,
        choice: Callable[[str], Choice],
        scorer: PathScorer,
        selector: PathSelector | None,
    ) -> None:
        self._options = options
        self._followed = store.followed(options.direction)
        self._choice = choice
        self._scorer, self._selector = scorer, selector

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> Retrieved:
        """Return the paths, best first; see the port."""
        judging = Judging(query.question, self._scorer, self._selector)
        ground = Ground(subgraph, subgraph.steps(self._followed))
        expansion = Expansion(self._options, ground, judging)
        choice = self._choice(query.question)
        parts = [Paths.none(subgraph.store)]
        for seed in query.seeds:
            parts += map(ground.paths, self._beams(ground.begun_at((seed,)), expansion, choice, judging))
        union = Paths.joined(parts)
        union = union.at(union.verbalised.distinct())
        order, scores = judging.best(union.verbalised)
        paths = union.at(order, scores[order])
        if self._options.switches.refine:
            paths = refined(paths, judging)
        return Retrieved(paths, judging.use)

    def _beams(self, walks: Walks, expansion: Expansion, choice: Choice, judging: Judging) -> list[Walks]:
        """The beam of each step from a seed."""
        beams: list[Walks] = []
        for _ in range(self._options.max_hop):
            of, taken = expansion.of(walks)
            if not len(taken):
                break
            grown = walks.longer(of, taken, expansion.ground.steps)
            walks = grown.at(choice.chosen(grown, expansion.ground, judging))
            if not len(walks):
                break
            beams.append(walks)
            if self._options.switches.early_stop and judging.enough(expansion.ground.texts(walks)):
                break
        return beams
