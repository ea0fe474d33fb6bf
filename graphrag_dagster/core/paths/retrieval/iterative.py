"""ISAR: a beam of paths that grow from each seed (spec_lego §4, Algorithm 1)."""

from collections.abc import Callable

from graphrag_dagster.core.language.path_selection import PathSelector
from graphrag_dagster.core.paths.found import Paths
from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.retrieval.choosing import Choice
from graphrag_dagster.core.paths.retrieval.expansion import Expansion
from graphrag_dagster.core.paths.retrieval.judging import Judging
from graphrag_dagster.core.paths.retrieval.oneshot import refined
from graphrag_dagster.core.paths.retrieval.port import Retrieved
from graphrag_dagster.core.paths.retrieval.walks import Ground, Walks
from graphrag_dagster.core.paths.scoring.port import PathScorer
from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.core.paths.subgraph import Subgraph


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
