"""OSAR: shortest paths, ranked or selected as wholes (paper, Table 1 and B.8)."""

from dataclasses import dataclass, field

import numpy as np

from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.graph.adjacency_arrays import Longs, PathStore
from graphrag_dagster.kernel.graph.graph_labels import Places, VerbalizedRows, first_by_score
from graphrag_dagster.systems.lego.retrieval.path_enumeration import RetrievedPaths, ShortestPaths
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import ModuleUse, PathQuery, Paths, Subgraph
from graphrag_dagster.systems.lego.tasks import Level, PathSelector


@dataclass
class Judging:
    """What is asked of a scorer and a selector for one question.

    Attributes:
        question: the question.
        scorer: says how well texts fit it; may be None where nothing is scored.
        selector: selects; may be None where nothing is selected.
        use: what it has cost so far.
    """

    question: str
    scorer: PathScorer | None = None
    selector: PathSelector | None = None
    use: ModuleUse = field(default_factory=ModuleUse)

    def scores(self, candidates: VerbalizedRows) -> Scores:
        """Return the score of each candidate [n]; texts that stand there twice are scored once."""
        if self.scorer is None:
            raise ValueError("there is no scorer")
        if not len(candidates):
            return np.zeros(0)
        rows, back = _distinct_rows(candidates)
        scores = self.scorer.scores(self.question, rows)
        self.use += ModuleUse(scored=len(rows), scored_tokens=self.scorer.tokens(rows))
        return scores if back is None else scores[back]

    def best(self, candidates: VerbalizedRows, most: int = -1) -> tuple[Places, Scores]:
        """Return places of candidates by score, and the scores of all."""
        scores = self.scores(candidates)
        return first_by_score(scores, candidates, most), scores

    def selected(self, level: Level, candidates: VerbalizedRows, most: int) -> Places:
        """Return the places that the selector names, in its order; none are asked for of none."""
        if self.selector is None:
            raise ValueError("there is no selector")
        if not len(candidates):
            return np.zeros(0, dtype=np.int64)
        found = self.selector.select(level, self.question, candidates, most)
        problems = () if found.problem is None else (found.problem,)
        self.use += ModuleUse(usage=found.usage, empty=int(not len(found.places)), problems=problems)
        return found.places

    def enough(self, paths: VerbalizedRows) -> bool:
        """Return whether the selector says that paths are enough."""
        if self.selector is None:
            raise ValueError("there is no selector")
        told = self.selector.enough(self.question, paths)
        problems = () if told.problem is None else (told.problem,)
        self.use += ModuleUse(usage=told.usage, problems=problems)
        return told.enough


def _distinct_rows(candidates: VerbalizedRows) -> tuple[VerbalizedRows, Places | None]:
    """Different rows, and where each candidate is among them; None where they are the candidates."""
    rows = candidates.rows
    # Sorted as one number each, which takes a tenth of the time that rows take.
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for column in range(rows.shape[1]):
        mixed = (mixed ^ rows[:, column].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    if len(np.unique(mixed)) == len(rows):
        return candidates, None
    _, first, back = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(rows):
        return candidates, None
    return candidates.at(first), back.astype(np.int64)


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

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> RetrievedPaths:
        """Return the paths, best first; see the port."""
        candidates = self._candidates.of(query, subgraph)
        judging = Judging(query.question, self._scorer)
        best, scores = judging.best(candidates.verbalised, self._most)
        return RetrievedPaths(candidates.at(best, scores[best]), judging.use)


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

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> RetrievedPaths:
        """Return the paths, best first; see the port."""
        candidates = self._candidates.of(query, subgraph)
        judging = Judging(query.question, self._scorer, self._selector)
        best, scores = judging.best(candidates.verbalised, max(self._most, SELECTED_FROM))
        shown = candidates.at(best, scores[best])
        chosen = judging.selected("path", shown.verbalised, self._most)[: self._most]
        if self._switches.supplement:
            chosen = supplement_paths(chosen, len(shown), self._most)
        if self._switches.rerank:
            chosen = chosen[first_by_score(shown.scores[chosen], shown.verbalised.at(chosen))]
        return RetrievedPaths(shown.at(chosen), judging.use)


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

    def retrieve(self, query: PathQuery, subgraph: Subgraph) -> RetrievedPaths:
        """Return the paths, best first; see the port."""
        candidates = self._candidates.of(query, subgraph)
        judging = Judging(query.question, selector=self._selector)
        left: list[Longs] = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(candidates), self._window):
            window = np.arange(start, min(start + self._window, len(candidates)))
            left.append(window[judging.selected("path", candidates.verbalised.at(window), self._most)])
        union = candidates.at(np.concatenate(left))
        chosen = judging.selected("refinement", union.verbalised, self._most)[: self._most]
        return RetrievedPaths(union.at(chosen), judging.use)


def supplement_paths(chosen: Longs, count: int, most: int) -> Longs:
    """Return places with the first others behind them until there are ``most``, or all ``count``."""
    others = np.setdiff1d(np.arange(count), chosen)
    return np.concatenate([chosen, others[: max(most - len(chosen), 0)]])


def refine_paths(paths: Paths, judging: Judging) -> Paths:
    """Return what is selected of the best paths (LLMs-R).

    Args:
        paths: best first.
        judging: asks the selector.
    """
    shown = paths.at(np.arange(min(len(paths), SELECTED_FROM)))
    return shown.at(judging.selected("refinement", shown.verbalised, SELECTED_FROM))
