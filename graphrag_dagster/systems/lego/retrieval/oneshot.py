"""OSAR: shortest paths, ranked or selected as wholes (spec_lego §4, §7)."""

import numpy as np

from graphrag_dagster.kernel.graph.arrays import Longs, PathStore
from graphrag_dagster.kernel.graph.verbalised import first_by_score
from graphrag_dagster.systems.lego.instances.found import PathQuery, Paths
from graphrag_dagster.systems.lego.instances.options import PathOptions
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.retrieval.judging import Judging
from graphrag_dagster.systems.lego.retrieval.port import Retrieved
from graphrag_dagster.systems.lego.retrieval.shortest import ShortestPaths
from graphrag_dagster.systems.lego.scoring.port import PathScorer
from graphrag_dagster.systems.lego.tasks import PathSelector

#: Paths, best first, that a selector chooses from after a search.
SELECTED_FROM = 32


class _Candidates:
    """The shortest paths of all seeds; of those that read alike the first."""

    def __init__(self, options: PathOptions, store: PathStore) -> None:
        self._shortest = ShortestPaths(options, store)

    def of(self, query: PathQuery, subgraph: Subgraph) -> Paths:
        paths = self._shortest.retrieve(query, subgraph).paths
        return paths.at(paths.verbalised.distinct())


class RankedPaths:
    """OSAR-EEMs: the ``top_k`` shortest paths by their scores.

    Args:
        options: ``top_k``, and those of :class:`ShortestPaths`.
        store: the graph.
        scorer: ranks them.
    """

    def __init__(self, options: PathOptions, store: PathStore, scorer: PathScorer) -> None:
        self._candidates = _Candidates(options, store)
        self._most = options.top_k
        self._scorer = scorer

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> Retrieved:
        """Return the paths, best first; see the port."""
        candidates = self._candidates.of(query, subgraph)
        judging = Judging(query.question, self._scorer)
        best, scores = judging.best(candidates.verbalised, self._most)
        return Retrieved(candidates.at(best, scores[best]), judging.use)


class SelectedPaths:
    """OSAR-LLMs: of the 32 shortest paths that score best (``top_k`` if that is more) those selected.

    They stand in the order of the selector, with their scores. With ``rerank`` (EEMs-R) they are ordered by
    these; with ``supplement`` (EEMs-S) they are filled up to ``top_k`` with the best that were not selected.

    Args:
        options: ``top_k``, the switches, and those of :class:`ShortestPaths`.
        store: the graph.
        scorer: ranks them before.
        selector: selects.
    """

    def __init__(
        self, options: PathOptions, store: PathStore, scorer: PathScorer, selector: PathSelector
    ) -> None:
        self._candidates = _Candidates(options, store)
        self._most = options.top_k
        self._switches = options.switches
        self._scorer, self._selector = scorer, selector

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> Retrieved:
        """Return the paths, best first; see the port."""
        candidates = self._candidates.of(query, subgraph)
        judging = Judging(query.question, self._scorer, self._selector)
        best, scores = judging.best(candidates.verbalised, max(self._most, SELECTED_FROM))
        shown = candidates.at(best, scores[best])
        chosen = judging.selected("path", shown.verbalised, self._most)[: self._most]
        if self._switches.supplement:
            chosen = supplemented(chosen, len(shown), self._most)
        if self._switches.rerank:
            chosen = chosen[first_by_score(shown.scores[chosen], shown.verbalised.at(chosen))]
        return Retrieved(shown.at(chosen), judging.use)


class WindowedPaths:
    """M-LLMs: a selection of every ``window`` shortest paths, then one of what these leave, without a scorer.

    Args:
        options: ``top_k``, ``switches.window``, and those of :class:`ShortestPaths`.
        store: the graph.
        selector: selects: ⌈n / window⌉ + 1 times of n paths, once less where nothing is left.
    """

    def __init__(self, options: PathOptions, store: PathStore, selector: PathSelector) -> None:
        self._candidates = _Candidates(options, store)
        self._most = options.top_k
        self._window = options.switches.window
        self._selector = selector

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> Retrieved:
        """Return the paths, best first; see the port."""
        candidates = self._candidates.of(query, subgraph)
        judging = Judging(query.question, selector=self._selector)
        left: list[Longs] = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(candidates), self._window):
            window = np.arange(start, min(start + self._window, len(candidates)))
            left.append(window[judging.selected("path", candidates.verbalised.at(window), self._most)])
        union = candidates.at(np.concatenate(left))
        chosen = judging.selected("refinement", union.verbalised, self._most)[: self._most]
        return Retrieved(union.at(chosen), judging.use)


def supplemented(chosen: Longs, count: int, most: int) -> Longs:
    """Return places with the first others behind them until there are ``most``, or all ``count``."""
    others = np.setdiff1d(np.arange(count), chosen)
    return np.concatenate([chosen, others[: max(most - len(chosen), 0)]])


def refined(paths: Paths, judging: Judging) -> Paths:
    """Return what is selected of the best paths (LLMs-R).

    Args:
        paths: best first.
        judging: asks the selector.
    """
    shown = paths.at(np.arange(min(len(paths), SELECTED_FROM)))
    return shown.at(judging.selected("refinement", shown.verbalised, SELECTED_FROM))
