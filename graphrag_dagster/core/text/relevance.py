"""How much sentences have to do with a question (English)."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.ranks import comparable, cosines
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.english_words import GENERAL, GENRES, THEMES
from graphrag_dagster.core.text.similarity import stem, stems, words

Numbers = NDArray[np.float64]

_SHARED = 0.6
_NAME = 2.0
#: Pairs of least cosine and least share of the question's words from which a sentence is related. Measured:
#: no sentence of four corpora is related by these to questions that have nothing to do with them.
_RELATED = ((0.42, 0.0), (0.36, 0.2), (0.25, 0.5), (0.1, 0.6))
#: A question is in scope where at least half of its words occur and its three nearest sentences are this near
#: on average; then nearness alone relates a sentence. Measured on 20 everyday questions: in three small
#: corpora none is in scope, in 260 parts of podcasts three; of 40 questions about those podcasts, 29 are.
_IN_SCOPE, _TOP, _NEAR = 0.5, 3, 0.24
#: What a sentence must have more of where the question names someone or something that it does not name.
_UNNAMED = 0.1
_NAME_IN_QUESTION = re.compile(r"(?<=[^.?!:]\s)[\"'“‘(]?([^\W\d_a-z][\w'’-]*)")

_GENERAL, _THEMES, _GENRES = (frozenset(map(stem, listed)) for listed in (GENERAL, THEMES, GENRES))


@dataclass(frozen=True, slots=True)
class Relevance:
    """Of each sentence: its value, of any scale, and whether it has anything to do with the question."""

    value: Numbers
    related: NDArray[np.bool_]
    vectors: NDArray[np.float32]

    @property
    def percentile(self) -> Numbers:
        """The share, 0…1, of the related sentences whose value is not larger; 0 for the others."""
        ordered = np.sort(self.value[self.related])
        share = np.searchsorted(ordered, self.value, side="right") / max(len(ordered), 1)
        return np.where(self.related, share, 0.0)


def asks_for_overview(question: str) -> bool:
    """Return whether a question looks for nothing in particular.

    Such are "What are the main themes?", which names nothing, and "Who are the main actors in the harbour,
    and how are they connected?", which names one common word among several that ask for an overview.
    """
    asked = _asked(question)
    general = [word for word in words(question) if set(stems(word)) & _GENERAL]
    return not asked or (len(asked) == 1 and len(general) > 1 and not _NAME_IN_QUESTION.search(question))


def _asked(question: str) -> list[str]:
    """Return the words of a question that say what to look for."""
    every = set(stems(question))
    general = _GENERAL | _GENRES if every & _THEMES else _GENERAL
    return [word for word in words(question) if set(stems(word)) - general]


def relevance(
    question: str, sentences: Sequence[str], places: Sequence[int], sizes: Sequence[int], embedder: Embedder
) -> Relevance:
    """Compare a question with the sentences that could answer it.

    The value is the cosine to the question's meaningful words plus 0.6 times the share of these words that
    the sentence holds, by stems, rarer ones and names counting more. A question that asks for an overview has
    no such words: there the value is the cosine to the mean of all sentences, larger for sentences that begin
    their report and for larger reports, and every sentence is related.

    Args:
        question: as asked.
        sentences: all that may be quoted; they are the background for what is rare.
        places: of each sentence in its report, 0….
        sizes: sentences of the report of each sentence.
        embedder: makes the vectors.
    """
    if not sentences:
        return Relevance(np.zeros(0), np.zeros(0, dtype=np.bool_), np.zeros((0, 1), dtype=np.float32))
    asked = _asked(question)
    vectors = embedder.embed([" ".join(asked), *sentences])
    if not asked or (asks_for_overview(question) and _occurs(asked, sentences)):
        return _overview(vectors[1:], places, sizes)
    return _focused(question, asked, sentences, cosines(vectors[1:], vectors[0]), vectors[1:])


def _occurs(asked: Sequence[str], sentences: Sequence[str]) -> bool:
    wanted = {stem(word) for word in asked}
    return any(wanted.intersection(stems(sentence)) for sentence in sentences)


def _overview(vectors: NDArray[np.float32], places: Sequence[int], sizes: Sequence[int]) -> Relevance:
    middle = vectors.mean(axis=0, dtype=np.float64)
    cosine = cosines(vectors, middle / max(float(np.linalg.norm(middle)), 1e-9))
    size = np.asarray(sizes, dtype=np.float64)
    begins = np.where(np.asarray(places) < 2, 1.0, 0.6)
    value = cosine.clip(0) * begins * (0.5 + 0.5 * size / size.max())
    return Relevance(comparable(value), np.ones(len(vectors), dtype=np.bool_), vectors)


def _focused(
    question: str,
    asked: Sequence[str],
    sentences: Sequence[str],
    cosine: Numbers,
    vectors: NDArray[np.float32],
) -> Relevance:
    wanted = {stem(word) for word in asked}
    names = {stem(word) for found in _NAME_IN_QUESTION.findall(question) for word in words(found)} & wanted
    held = [wanted.intersection(stems(sentence)) for sentence in sentences]
    often = Counter(one for found in held for one in found)
    weight = {
        one: (_NAME if one in names else 1.0) * math.log(1 + len(sentences) / (1 + often[one]))
        for one in wanted
    }
    whole = math.fsum(weight.values())
    shared = np.array([math.fsum(weight[one] for one in found) / whole for found in held])
    unnamed = np.array([bool(names) and not names & found for found in held]) * _UNNAMED
    related = np.zeros(len(sentences), dtype=np.bool_)
    for least_cosine, least_share in _RELATED:
        related |= (cosine >= least_cosine + unnamed) & (shared >= least_share + unnamed)
    known = len(often) >= _IN_SCOPE * len(wanted) and (not names or any(often[name] for name in names))
    if known and comparable(np.sort(cosine)[-_TOP:].mean()) >= _NEAR:
        related |= cosine >= _NEAR
    return Relevance(comparable(cosine.clip(0) + _SHARED * shared), related, vectors)
