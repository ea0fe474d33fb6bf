"""The first text units of a ranking in a new order, and what moved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.common.stable_scores import Scores, comparable
from graphrag_dagster.kernel.retrieval.ranking import first_places
from graphrag_dagster.kernel.retrieval.reranking.answer_features import (
    FEATURES,
    AskedWords,
    answer_features,
    asked_words,
)
from graphrag_dagster.kernel.retrieval.reranking.answer_weights import UNIT_WEIGHTS
from graphrag_dagster.kernel.retrieval.words import sentence_starts
from graphrag_dagster.kernel.text.lines import Line, Turn, turns


@dataclass(frozen=True, slots=True)
class Sought:
    """What text units are looked for by.

    Attributes:
        question: with those before it in the conversation, each on a line of its own, the one asked last.
        length: how little of its document a text unit of the corpus is, 0 (all of it) to 1, on average.
        followed: whether the units were found by following the question over the graph, rather than as it
            was asked to find them, by words or vectors.
    """

    question: str
    length: float = 1.0
    followed: bool = True


class Reranker(Protocol):
    """Says how well texts fit a question; what it says depends on the question and the text alone."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a score: kind, model and version."""

    def counts(self, sought: Sought) -> float:
        """Return how much the order by the scores counts against that in which the texts were found.

        1: as much; 0: not at all, and no scores are asked for.
        """

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one finite score per text [n], higher is better; of any scale.

        Args:
            sought: the question.
            texts: of text units, each below the title of its document, in the order in which they were found.
        """


#: Of reciprocal rank fusion (Cormack et al. 2009, who take 60): the smaller, the more the first ones count.
_SMOOTHING = 10


@dataclass(frozen=True, slots=True)
class Moved:
    """A text unit that was put elsewhere; ranks count from 1."""

    text_unit_id: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a reranker did to the first text units that were found.

    Attributes:
        question: that they were found by.
        reranker: its name, which tells kind, model and version.
        units: how many it looked at.
        moved: those that it put elsewhere, in their new order.
    """

    question: str
    reranker: str
    units: int
    moved: tuple[Moved, ...] = ()


def reordered(
    found: Sequence[str], texts: Callable[[str], str], sought: Sought, reranker: Reranker, first: int
) -> tuple[list[str], Reranked]:
    """Return all text units, the first of them in a new order, and what moved.

    The order that they were found in and that of the reranker's scores are made one by reciprocal rank
    fusion, in which the latter counts as much as the reranker says. Equal scores have the same rank, so that
    a reranker that tells nothing apart moves nothing. Units beyond the first stay where they are.

    Args:
        found: ids of text units, best first.
        texts: gives the text of a unit.
        sought: what they were found by.
        reranker: scores the first of them.
        first: how many these are, at most.

    Raises:
        EngineError: it gave something else than one finite score for each.
    """
    head = list(found[:first])
    scores = np.asarray(reranker.scores(sought, [texts(one) for one in head]), dtype=np.float64)
    if scores.shape != (len(head),) or not np.isfinite(scores).all():
        raise EngineError(
            f"the reranker {reranker.name} gave no finite score for each of {counted(len(head), 'text unit')}"
        )
    rounded = comparable(scores)
    better = np.searchsorted(np.sort(-rounded), -rounded, side="left")
    fused = 1 / (_SMOOTHING + np.arange(len(head))) + reranker.counts(sought) / (_SMOOTHING + better)
    order = first_places(fused).tolist()
    moved = tuple(
        Moved(head[before], before + 1, after) for after, before in enumerate(order, 1) if before + 1 != after
    )
    made = Reranked(sought.question, reranker.name, len(head), moved)
    return [*(head[place] for place in order), *found[first:]], made


_WEIGHTS = np.array([UNIT_WEIGHTS[name] for name in FEATURES])
_LONGEST_TITLE = 200
#: How much the order counts against that in which units of long documents were found.
_COUNTS = 2.0


class LexicalReranker:
    """Scores a text by its sentences: what of the question each holds, and what stands around it.

    The score is the logarithm of the sum of the likelihoods of its sentences. It tells where in long
    documents an answer stands; of texts that are documents of their own, which lead from one to another, it
    knows less than the order in which they were found, and does not count. Nor does it where units were
    found as somebody chose, by words or by vectors.
    """

    name = "lexical"

    def counts(self, sought: Sought) -> float:
        """How much the order by the scores counts against that in which the texts were found."""
        return _COUNTS * sought.length if sought.followed and asked_words(sought.question) else 0.0

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one score per text; zeros for a question without words."""
        apart = [_taken_apart(text) for text in texts]
        lines = [
            Line(one.text, one.place, one.size, row, one.title)
            for row, (own, _) in enumerate(apart)
            for one in own
        ]
        if not lines or not asked_words(sought.question):
            return np.zeros(len(texts))
        said_by = [turn for _, own in apart for turn in own]
        likely = unit_features(sought.question, lines, said_by) @ _WEIGHTS
        highest = likely.max()
        sums = np.zeros(len(texts))
        np.add.at(sums, [line.row for line in lines], np.exp(likely - highest))
        return comparable(np.log(sums) + highest)


def unit_features(question: str, lines: Sequence[Line], said_by: Sequence[Turn]) -> Scores:
    """Return what speaks for sentences by their words alone, a column for each of ``FEATURES``.

    Args:
        question: which has words to look for.
        lines: the sentences, at least one, which also are the background for what is rare.
        said_by: who says each.
    """
    asked = AskedWords.of(question)
    same, near = asked.found_in([turn.stems for turn in said_by])
    weight = np.log1p(len(lines) / (1 + same.sum(axis=0)))
    return answer_features(asked, lines, said_by, same.astype(np.float64), weight, same, near)


@lru_cache(maxsize=2048)
def _taken_apart(text: str) -> tuple[tuple[Line, ...], tuple[Turn, ...]]:
    """The sentences of a text as those of row 0, and who says them; its first line may be a title."""
    first = text.partition("\n")[0]
    title = first if len(first) <= _LONGEST_TITLE else ""
    spans = list(pairwise([*sentence_starts(text), len(text)]))
    lines = tuple(
        Line(text[start:end].strip(), place, len(spans), 0, title) for place, (start, end) in enumerate(spans)
    )
    return lines, tuple(turns(lines))
