"""Rule-based selection of paths and answers from them: the instances named ``-lex``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.kernel.graph.graph_labels import NO_PIECE, Places, VerbalizedRows, first_by_score
from graphrag_dagster.kernel.text.text_similarity import diverse, stems
from graphrag_dagster.systems.lego.retrieval.path_scorers import Bm25Scorer, StaticScorer, WordedScorer
from graphrag_dagster.systems.lego.tasks import UNKNOWN, Level, PathAnswer, Selection, Sufficiency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphrag_dagster.kernel.tasks.task_ports import Engine
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
    from graphrag_dagster.systems.lego.tasks import PathAnswerer, PathSelector


def path_selector(_session: TaskProvider) -> PathSelector:
    """Who selects nodes, relations, triples and paths."""
    return ExtractivePathSelector()


def path_answerer(_session: TaskProvider) -> PathAnswerer:
    """Who answers from paths."""
    return ExtractivePathAnswerer()


#: How little the first ranks count more than those behind them when ranks are added.
_FLATNESS = 60
#: How much the score counts beside what is new, when what repeats is dropped.
_BALANCE = 0.7
#: Share of the question's stems that a path must hold to be enough.
_ENOUGH = 0.8


class ExtractivePathSelector:
    """Stands in for a model without being one.

    Selected is what comes first when the ranks by BM25 and by static vectors are added as 1 / (60 + rank), up
    to the largest relative fall of these sums. Of paths that were chosen before (``refinement``) those are
    dropped whose end and relations another has; the others follow by maximal marginal relevance. Paths are
    enough where the first holds four fifths of the stems of the question's words that carry meaning.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self) -> None:
        self._scorers = (Bm25Scorer(), WordedScorer(StaticScorer()))

    def select(self, level: Level, question: str, candidates: VerbalizedRows, most: int) -> Selection:
        """Return those that stand out, one at least; see the port."""
        if not len(candidates):
            return Selection(np.zeros(0, dtype=np.int64), 0, np.zeros(0))
        sums = self._sums(question, candidates)
        if level == "refinement":
            chosen = _without_repeats(sums, candidates, most)
        else:
            order = first_by_score(sums, candidates, most + 1)
            chosen = order[: min(count_before_drop(sums[order]), most)]
        return Selection(chosen, len(candidates), sums[chosen])

    def enough(self, question: str, paths: VerbalizedRows) -> Sufficiency:
        """Return whether the first path holds enough of what the question asks for; see the port."""
        asked = set(stems(question))
        if not asked or not len(paths):
            return Sufficiency(enough=False)
        (first,) = paths.at([0]).texts
        return Sufficiency(len(asked & set(stems(first))) >= _ENOUGH * len(asked))

    def _sums(self, question: str, candidates: VerbalizedRows) -> Scores:
        sums = np.zeros(len(candidates))
        for scorer in self._scorers:
            # What scores alike has one rank: the best of theirs.
            falling = -scorer.scores(question, candidates)
            sums += 1.0 / (_FLATNESS + 1 + np.searchsorted(np.sort(falling), falling))
        return round_for_comparison(sums)


def count_before_drop(scores: Scores) -> int:
    """Return how many scores stand before their largest relative fall; all where none falls.

    Args:
        scores: one or more above 0, highest first.
    """
    falls = round_for_comparison(-np.diff(scores) / scores[:-1])
    return int(falls.argmax()) + 1 if len(falls) and falls.max() > 0 else len(scores)


def _without_repeats(scores: Scores, candidates: VerbalizedRows, most: int) -> Places:
    """Paths of which no two have the same end and the same relations."""
    rows = candidates.rows
    lengths = (rows != NO_PIECE).sum(axis=1)
    ends = rows[np.arange(len(rows)), lengths - 1]
    _, end = np.unique(ends, return_inverse=True)
    _, relations = np.unique(rows[:, 1::2], axis=0, return_inverse=True)
    # Alike by half where one of the two is the same.
    vectors = np.zeros((len(rows), end.max() + relations.max() + 2), dtype=np.float32)
    vectors[np.arange(len(rows)), end] = vectors[np.arange(len(rows)), end.max() + 1 + relations] = np.sqrt(
        0.5
    )
    order = first_by_score(scores, candidates)
    width = np.ptp(scores)
    relevance = (scores[order] - scores.min()) / (width or 1.0)
    kept: set[tuple[int, int]] = set()

    def new(place: int, _chosen: object) -> bool:
        pair = (int(end[order[place]]), int(relations[order[place]]))
        known = pair in kept
        kept.add(pair)
        return not known

    return order[diverse(relevance, vectors[order], most, _BALANCE, new)]


Flags = NDArray[np.bool_]

#: What a node counts between the ends of a path.
_INNER = 0.5
#: What a node that reports name counts beside, for each of what it counts.
_REPORTED = 0.5
#: Share of the largest weight from which a node is named.
_NAMED = 0.5


class ExtractivePathAnswerer:
    """Names the nodes that the best paths lead to, each on a line, with the first path that ends there.

    A path counts e^score of its score over the sum of all, for its end whole, for the nodes between by half.
    What reports of communities name counts half as much again. Named is what has half of the largest sum or
    more. Where paths begin is what was asked about, and is no answer.
    """

    engine: Final[Engine] = "extractive"

    def answer(
        self, question: str, paths: VerbalizedRows, scores: Scores, reports: Sequence[str] = ()
    ) -> PathAnswer:
        """Return the nodes, weightiest first, equal ones by name; see the port."""
        del question
        nodes = paths.rows[:, 0::2]
        lengths = (nodes != NO_PIECE).sum(axis=1)
        place = np.arange(nodes.shape[1])
        is_end = place == lengths[:, None] - 1
        open_ = (nodes != NO_PIECE) & ~np.isin(nodes, nodes[:, 0])
        if not open_.any():
            return PathAnswer(UNKNOWN, self.engine, named=())
        shares = softmax(scores)[:, None] * np.where(is_end, 1.0, _INNER)
        found, of = np.unique(nodes[open_], return_inverse=True)
        summed: Scores = np.bincount(of, weights=shares[open_]).astype(np.float64)
        names = [paths.vocabulary.piece(one) for one in found]
        weights = round_for_comparison(summed * (1 + _REPORTED * _names_in_reports(reports, names)))
        # The first path that ends there; else the first that leads through it.
        rank = (np.arange(len(nodes))[:, None] + np.where(is_end, 0, len(nodes)))[open_]
        first = np.full(len(found), 2 * len(nodes))
        np.minimum.at(first, of, rank)
        named = [one for one in range(len(found)) if weights[one] >= _NAMED * weights.max()]
        named.sort(key=lambda one: (-weights[one], names[one]))
        return PathAnswer(
            "\n".join(names[one] for one in named),
            self.engine,
            tuple(names[one] for one in named),
            tuple(int(first[one]) % len(nodes) for one in named),
        )


def _names_in_reports(reports: Sequence[str], names: Sequence[str]) -> Flags:
    """Return which names stand in reports as words [n]; in whatever capitals."""
    text = "\n".join(reports).casefold()
    parts = [rf"(?<!\w){re.escape(name.casefold())}(?!\w)" for name in names]
    return np.array([bool(text) and re.search(part, text) is not None for part in parts], dtype=np.bool_)


def softmax(scores: Scores) -> Scores:
    """Return e^score of each over the sum of all [n]; they add up to 1."""
    powers = np.exp(scores - scores.max()) if len(scores) else scores
    found: Scores = powers / powers.sum() if len(scores) else scores
    return found
