"""How much sentences have to do with a question (English)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import Scores, comparable, cosines, unit_rows
from graphrag_dagster.kernel.models.embedder import Embedder
from graphrag_dagster.kernel.questions.citations import Aligned, aligned
from graphrag_dagster.kernel.retrieval.reranking.answer_features import (
    FEATURES,
    AskedWords,
    answer_features,
    asked_words,
    asks_for_overview,
)
from graphrag_dagster.kernel.retrieval.reranking.answer_weights import ANSWER_WEIGHTS
from graphrag_dagster.kernel.text.lines import Line, Rows, Turn, turns
from graphrag_dagster.kernel.text.similarity import stem, stems

#: What speaks for a sentence; the cosines are those of the sentence and of its row.
ANSWER_FEATURES = (*FEATURES, "cosine", "row_cosine")
_WEIGHTS = np.array([ANSWER_WEIGHTS[name] for name in ANSWER_FEATURES])
#: The larger, the more the value of a likelier sentence is above that of others, and the fewer are quoted.
SHARPNESS = 0.15
#: Which sentences stand beside one, by how many places before (after) it.
_BESIDE = (-2, -1, 1, 2)
#: Least share of the question's words around a sentence from which the question is in scope, by how many of
#: them stand in it or beside it, less a share of its cosine. See ``benchmarks/refusals.py``.
_ONE_WORD, _ONE, _TWO, _MORE, _BY_COSINE = 0.99, 0.9, 0.55, 0.35, 0.4
#: Words from which a question may name something that the documents do not.
_LONG = 6
#: Words of names in or beside one sentence that are enough by themselves.
_FULL_NAME = 2
#: What a sentence must have of the best one's value to be related to a question that is in scope.
_OF_BEST = 0.35


@dataclass(frozen=True, slots=True)
class Relevance:
    """Of each sentence: its value, of any scale, and whether it has anything to do with the question."""

    value: Scores
    related: NDArray[np.bool_]
    vectors: NDArray[np.float32]

    @property
    def percentile(self) -> Scores:
        """The share, 0…1, of the related sentences whose value is not larger; 0 for the others."""
        ordered = np.sort(self.value[self.related])
        share = np.searchsorted(ordered, self.value, side="right") / max(len(ordered), 1)
        return np.where(self.related, share, 0.0)


def relevance(question: str, lines: Sequence[Line], embedder: Embedder) -> Relevance:
    """Compare a question with the sentences that could answer it.

    The meaningful words of the question, rarer ones counting more, are looked for in the sentence, in those
    beside it, in its row, its speaker and its title, by stem and else by the nearest meaning of a word
    (:mod:`graphrag_dagster.kernel.questions.citations`). What of that speaks for a sentence
    (:mod:`graphrag_dagster.kernel.retrieval.reranking.answer_features`), and the cosines of the sentence and
    of its row, are weighed by ``ANSWER_WEIGHTS``; the value grows with it exponentially.

    A question that asks for an overview has no such words: there the value is the cosine to the mean of all
    sentences, larger for sentences that begin their row and for larger rows, and every sentence is related.

    Args:
        question: as asked.
        lines: all that may be quoted; they are the background for what is rare.
        embedder: makes the vectors.
    """
    if not lines:
        return Relevance(np.zeros(0), np.zeros(0, dtype=np.bool_), np.zeros((0, 1), dtype=np.float32))
    asked = asked_words(question)
    if not asked or (asks_for_overview(question) and _occurs(asked, lines)):
        return _overview(lines, embedder)
    return _focused(question, lines, embedder)


def _occurs(asked: Sequence[str], lines: Sequence[Line]) -> bool:
    wanted = {stem(word) for word in asked}
    return any(wanted.intersection(stems(line.text)) for line in lines)


def _overview(lines: Sequence[Line], embedder: Embedder) -> Relevance:
    vectors = embedder.embed([line.text for line in lines])
    middle = vectors.mean(axis=0, dtype=np.float64)
    cosine = cosines(vectors, middle / max(float(np.linalg.norm(middle)), 1e-9))
    size = np.array([line.size for line in lines], dtype=np.float64)
    begins = np.array([1.0 if line.place < 2 else 0.6 for line in lines])
    value = cosine.clip(0) * begins * (0.5 + 0.5 * size / size.max())
    return Relevance(comparable(value), np.ones(len(lines), dtype=np.bool_), vectors)


@dataclass(frozen=True, slots=True)
class _Read:
    """A question beside the sentences: features [n, ANSWER_FEATURES], what holds which word, vectors."""

    asked: AskedWords
    said_by: Sequence[Turn]
    found: Aligned
    features: Scores
    vectors: NDArray[np.float32]

    def feature(self, name: str) -> Scores:
        column: Scores = self.features[:, ANSWER_FEATURES.index(name)]
        return column


def sentence_features(question: str, lines: Sequence[Line], embedder: Embedder) -> Scores:
    """Return what speaks for each sentence, a column for each of ``ANSWER_FEATURES``.

    Args:
        question: which has words to look for.
        lines: the sentences, at least one.
        embedder: makes the vectors.
    """
    return _read(question, lines, embedder).features


def _read(question: str, lines: Sequence[Line], embedder: Embedder) -> _Read:
    asked = AskedWords.of(question)
    said_by = turns(lines)
    said = [turn.said for turn in said_by]
    found = aligned(asked.words, said, embedder, asked.name_stems)
    _, near = asked.found_in([turn.stems for turn in said_by])
    features = answer_features(asked, lines, said_by, found.held, found.weight, found.same, near)
    vectors = embedder.embed([" ".join(asked.words), *said])
    of_rows = unit_rows(Rows(lines).sums(vectors[1:].astype(np.float64)))
    near_ones = [cosines(own, vectors[0]).clip(0) for own in (vectors[1:], of_rows)]
    return _Read(asked, said_by, found, np.column_stack([features, *near_ones]), vectors[1:])


def _focused(question: str, lines: Sequence[Line], embedder: Embedder) -> Relevance:
    read = _read(question, lines, embedder)
    spoken = comparable(read.features @ _WEIGHTS)
    value = comparable(np.exp(SHARPNESS * (spoken - spoken.max())))
    related = np.zeros(len(lines), dtype=np.bool_)
    if _concerns(read, lines):
        related = value >= comparable(_OF_BEST * value.max())
    return Relevance(value, related, read.vectors)


def _concerns(read: _Read, lines: Sequence[Line]) -> bool:
    """Whether a question is in the scope of the sentences."""
    asked, found = read.asked, read.found
    there = np.maximum.reduce(
        [
            found.same,
            asked.in_names([turn.speaker for turn in read.said_by]),
            asked.in_names([line.title for line in lines]),
        ]
    )
    same, rows = found.same.astype(np.float64), Rows(lines)
    beside = np.maximum.reduce([there, *(rows.beside(same, distance) for distance in _BESIDE)])
    if (beside[:, asked.names].sum(axis=1) >= _FULL_NAME).any():
        return True
    all_known = len(asked.words) >= _LONG or bool(there[:, asked.names].any(axis=0).all())
    return all_known and _in_scope(
        beside.sum(axis=1), read.feature("around"), read.feature("cosine"), len(asked.words)
    )


def _in_scope(held: Scores, around: Scores, cosine: Scores, asked: int) -> bool:
    """Whether any sentence holds enough of the question's words."""
    least = np.select([held < 1, held < 2, held < 3], [np.inf, _ONE, _TWO], _MORE) - _BY_COSINE * cosine
    if asked == 1:
        least = np.where(held < 1, np.inf, _ONE_WORD)
    return bool((comparable(around) >= comparable(least)).any())
