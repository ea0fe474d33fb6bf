"""Reranking by words: how likely a sentence of a text answers the question."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from graphrag_dagster.core.ranks import Scores, comparable
from graphrag_dagster.core.search.reranking.port import Sought
from graphrag_dagster.core.search.retrieval.sentences import sentence_starts
from graphrag_dagster.core.text.answer_features import FEATURES, AskedWords, answer_features
from graphrag_dagster.core.text.answer_weights import UNIT_WEIGHTS
from graphrag_dagster.core.text.lines import Line, Turn, turns
from graphrag_dagster.core.text.questions import asked_words

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
