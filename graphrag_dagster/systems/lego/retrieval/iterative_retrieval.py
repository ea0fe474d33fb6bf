"""ISAR: a beam of paths that grow from each seed, and the steps they may take (paper, Algorithm 1)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs, PathStore
from graphrag_dagster.kernel.graph.graph_labels import first_by_score
from graphrag_dagster.systems.lego.retrieval.oneshot_retrieval import Judging, refine_paths, supplement_paths
from graphrag_dagster.systems.lego.retrieval.path_enumeration import Ground, RetrievedPaths, Walks
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Paths, Subgraph
from graphrag_dagster.systems.lego.tasks import PathSelector

#: With dynamic pruning a beam has at most so many times as many paths.
WIDEST = 4


class BeamChoice(Protocol):
    """Chooses the beam."""

    def chosen(self, walks: Walks, ground: Ground, judging: Judging) -> Longs:
        """Return the places of those of the walks, one or more, that stay, best first."""


@dataclass(frozen=True, slots=True)
class ByScore:
    """ISAR-EEMs: the ``beam`` best.

    Attributes:
        beam: how many.
        triple_level: by the last triple, not by the whole path.
        dynamic: as many as :func:`at_least_threshold` keeps, at most four times ``beam``.
        percentile: see there.
    """

    beam: int
    triple_level: bool = False
    dynamic: bool = False
    percentile: float | None = None

    def chosen(self, walks: Walks, ground: Ground, judging: Judging) -> Longs:
        """Return the places of those that stay; see the port."""
        texts = ground.texts(walks)
        if self.triple_level:
            scores = judging.scores(ground.last_triples(walks.nodes[:, -2], walks.taken[:, -1]))
        else:
            scores = judging.scores(texts)
        if not self.dynamic:
            return first_by_score(scores, texts, self.beam)
        kept = np.flatnonzero(at_least_threshold(scores, self.percentile))
        return kept[first_by_score(scores[kept], texts.at(kept), WIDEST * self.beam)]


@dataclass(frozen=True, slots=True)
class BySelection:
    """ISAR-LLMs: the first ``beam`` that the selector names; none where it names none.

    Attributes:
        beam: how many.
        prefilter: the selector is shown so many, the best (EEMs-PF); 0: all, best first.
        supplement: what it does not name is filled up with the best (EEMs-S).
    """

    beam: int
    prefilter: int = 0
    supplement: bool = False

    def chosen(self, walks: Walks, ground: Ground, judging: Judging) -> Longs:
        """Return the places of those that stay; see the port."""
        texts = ground.texts(walks)
        best, _ = judging.best(texts, self.prefilter or -1)
        chosen = judging.selected("subgraph", texts.at(best), self.beam)[: self.beam]
        if self.supplement:
            chosen = supplement_paths(chosen, len(best), self.beam)
        return best[chosen]


def at_least_threshold(scores: Scores, percentile: float | None = None) -> NDArray[np.bool_]:
    """Return which scores, brought to 0…1, are not below their mean, or a percentile of them.

    Of equal scores all are kept.
    """
    least, width = scores.min(), np.ptp(scores)
    if not width:
        return np.ones(len(scores), dtype=np.bool_)
    brought = round_for_comparison((scores - least) / width)
    border = brought.mean() if percentile is None else np.percentile(brought, percentile)
    return brought >= round_for_comparison(np.asarray(border))


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
            of, taken = walks.next_steps(steps)
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
    each text once, are then ordered by the scores of the whole paths; with ``isar_order: selection`` those of
    ISAR-LLMs as they were selected: by their place in the beam, short ones first.

    Args:
        options: ``max_hop``, ``direction``, ``isar_order``, those of :class:`Expansion`, and the switches
            ``refine`` and ``early_stop``.
        store: the graph.
        choice: who chooses the beam for a question.
        scorer: scores.
        selector: selects, and says whether paths are enough; None where neither is asked for.
    """

    def __init__(
        self,
        options: PathOptions,
        store: PathStore,
        choice: Callable[[str], BeamChoice],
        scorer: PathScorer,
        selector: PathSelector | None,
    ) -> None:
        self._options = options
        self._followed = store.resolve_direction(options.direction)
        self._choice = choice
        self._scorer, self._selector = scorer, selector

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> RetrievedPaths:
        """Return the paths, best first; see the port."""
        judging = Judging(query.question, self._scorer, self._selector)
        ground = Ground(subgraph, subgraph.steps(self._followed))
        expansion = Expansion(self._options, ground, judging)
        choice = self._choice(query.question)
        beams = [
            beam
            for seed in query.seeds
            for beam in self._beams_from(ground.walks_from((seed,)), expansion, choice, judging)
        ]
        union = Paths.concatenate([Paths.none(subgraph.store), *map(ground.paths, beams)])
        distinct = union.verbalised.distinct()
        union = union.at(distinct)
        order, scores = judging.best(union.verbalised)
        if self._options.judged == "llm" and self._options.isar_order == "selection":
            places = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(len(one)) for one in beams)])
            order = np.lexsort((union.lengths, places[distinct]))
        paths = union.at(order, scores[order])
        if self._options.switches.refine:
            paths = refine_paths(paths, judging)
        return RetrievedPaths(paths, judging.use)

    def _beams_from(
        self, walks: Walks, expansion: Expansion, choice: BeamChoice, judging: Judging
    ) -> list[Walks]:
        """The beam of each step from a seed."""
        beams: list[Walks] = []
        for _ in range(self._options.max_hop):
            of, taken = expansion.of(walks)
            if not len(taken):
                break
            grown = walks.extend(of, taken, expansion.ground.steps)
            walks = grown.at(choice.chosen(grown, expansion.ground, judging))
            if not len(walks):
                break
            beams.append(walks)
            if self._options.switches.early_stop and judging.enough(expansion.ground.texts(walks)):
                break
        return beams
