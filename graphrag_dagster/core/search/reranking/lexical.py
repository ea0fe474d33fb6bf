"""Reranking by words: how likely a sentence of a text answers the question."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from graphrag_dagster.core.ranks import Scores, comparable
from graphrag_dagster.core.search.reranking.port import Sought
from graphrag_dagster.core.search.retrieval.sentences import sentence_starts
from graphrag_dagster.core.text.answer_features import FEATURES, AskedWords, answer_features
from graphrag_dagster.core.text.answer_weights import UNIT_WEIGHTS
from graphrag_dagster.core.text.lines import Line, turns
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
        lines = [line for row, text in enumerate(texts) for line in _lines(text, row)]
        if not lines or not asked_words(sought.question):
            return np.zeros(len(texts))
        likely = unit_features(sought.question, lines) @ _WEIGHTS
        highest = likely.max()
        sums = np.zeros(len(texts))
        np.add.at(sums, [line.row for line in lines], np.exp(likely - highest))
        return comparable(np.log(sums) + highest)


def unit_features(question: str, lines: Sequence[Line]) -> Scores:
    """Return what speaks for sentences by their words alone, a column for each of ``FEATURES``.

    Args:
        question: which has words to look for.
        lines: the sentences, at least one, which also are the background for what is rare.
    """
    asked = AskedWords.of(question)
    said_by = turns(lines)
    same, near = asked.found_in([turn.said for turn in said_by])
    weight = np.log1p(len(lines) / (1 + same.sum(axis=0)))
    return answer_features(asked, lines, said_by, same.astype(np.float64), weight, same, near)


def _lines(text: str, row: int) -> Iterator[Line]:
    title, sentences = _taken_apart(text)
    for place, sentence in enumerate(sentences):
        yield Line(sentence, place, len(sentences), row, title)


@lru_cache(maxsize=4096)
def _taken_apart(text: str) -> tuple[str, tuple[str, ...]]:
    """The first line, where it may be a title, and all sentences."""
    starts = [*sentence_starts(text), len(text)]
    sentences = tuple(text[start:end].strip() for start, end in pairwise(starts))
    first = text.partition("\n")[0]
    return first if len(first) <= _LONGEST_TITLE else "", sentences
