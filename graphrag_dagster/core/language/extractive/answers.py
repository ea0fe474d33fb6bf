"""Global answers made of quotations (spec_graphrag §12)."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.language.extractive.quotable import readability
from graphrag_dagster.core.language.extractive.similarity import near_duplicate, stems, words
from graphrag_dagster.core.language.tasks import (
    ContextUnit,
    Embedder,
    Engine,
    FinalAnswer,
    PartialAnswer,
    Quote,
)

_PER_CHUNK = 12
_MOST_SENTENCES = 12
_PER_REPORT = 4
_TOP = 3
_DIVERSITY = 0.7
_RELATED = 0.35
_SHARED = 0.25

#: Words that ask for an overview and say nothing about its subject.
_OVERVIEW = frozenset(
    stems(
        "main major key important significant theme themes topic topics subject overview summary "
        "summarise summarize summarise overall general actor actors entity entities corpus collection "
        "document documents dataset text texts article articles story stories issue issues connected "
        "connection connections related relationship relationships relate happen happened discuss "
        "discussed mention mentioned recur recurring "
    )
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    unit: int
    quote: Quote | None
    chunk: int
    place: int


class ExtractiveAnswerer:
    """Chooses and quotes the sentences of the context that are nearest to the question; invents nothing.

    A sentence's similarity is the mean of the cosine of its static embedding to the question's and of the
    share of the question's meaningful stems it holds, rarer stems counting more. A question that asks for
    an overview (half of its meaningful words or more are such as "main", "themes", "actors") is answered
    from the most central sentences instead. A chunk's score is the mean
    percentile of its three best sentences among all sentences of the question's context, times 100. Sentences
    that share nothing with the question do not count, so that a question about something else is refused.
    """

    engine: Engine = "extractive"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def map(
        self,
        question: str,
        chunks: Sequence[Sequence[ContextUnit]],
        rendered: Sequence[str],  # noqa: ARG002
    ) -> list[PartialAnswer]:
        """Return, per chunk, the sentences nearest to the question, best first."""
        sentences = [
            _Sentence(text, unit.id, quote, number, place)
            for number, chunk in enumerate(chunks)
            for unit in chunk
            for place, (text, quote) in enumerate(unit.sentences)
            if readability(text) > 0
        ]
        similarity, related = self._similarity(question, sentences)
        percentile = _percentiles(similarity)
        answers = []
        for number in range(len(chunks)):
            own = [i for i, sentence in enumerate(sentences) if sentence.chunk == number and related[i]]
            own.sort(key=lambda i: (-similarity[i], sentences[i].unit, sentences[i].place))
            answers.append(_partial([sentences[i] for i in own], [percentile[i] for i in own]))
        return answers

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        """Join the partial answers: the most relevant sentences that do not repeat, grouped by report."""
        found = list(dict.fromkeys(quote for partial in partials for quote in partial.quotes))
        sentences = [
            _Sentence(text, unit, quote, 0, place) for place, (text, unit, quote) in enumerate(found)
        ]
        similarity, _ = self._similarity(question, sentences)
        chosen = self._diverse(sentences, similarity)
        groups: dict[int, list[_Sentence]] = {}
        for i in chosen:
            groups.setdefault(sentences[i].unit, []).append(sentences[i])
        paragraphs, quotes = [], []
        for unit, members in groups.items():
            ordered = sorted(members, key=lambda sentence: sentence.place)
            paragraphs.append(" ".join(sentence.text for sentence in ordered))
            quotes += [(sentence.text, unit, sentence.quote) for sentence in ordered]
        return FinalAnswer("\n\n".join(paragraphs), self.engine, tuple(quotes))

    def _similarity(
        self, question: str, sentences: Sequence[_Sentence]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the similarity of each sentence, and whether it has anything to do with the question."""
        if not sentences:
            return np.zeros(0), np.zeros(0, dtype=np.bool_)
        vectors = self._embedder.embed([question, *(sentence.text for sentence in sentences)])
        cosine = np.asarray(vectors[1:] @ vectors[0], dtype=np.float64)
        every = set(stems(question))
        asked = every - _OVERVIEW
        if 2 * len(asked) <= len(every):
            return self._centrality(sentences, cosine), np.ones(len(sentences), dtype=np.bool_)
        own = [set(stems(sentence.text)) for sentence in sentences]
        frequency = Counter(stem for found in own for stem in found & asked)
        weight = {stem: math.log(1 + len(sentences) / (1 + frequency[stem])) for stem in sorted(asked)}
        total = sum(weight.values())
        shared = np.array([sum(weight[stem] for stem in sorted(found & asked)) / total for found in own])
        quality = np.array([readability(sentence.text) for sentence in sentences])
        related = (shared >= _SHARED) | ((cosine >= _RELATED) & (shared > 0))
        return (cosine.clip(0) + shared) / 2 * (0.5 + quality / 2), related

    def _centrality(self, sentences: Sequence[_Sentence], cosine: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much a sentence says about the whole, for questions that ask for an overview.

        Reports begin with their most central sentences, and long reports are about much connected members.
        """
        length = Counter(sentence.unit for sentence in sentences)
        longest = max(length.values())
        size = np.array([length[sentence.unit] / longest for sentence in sentences])
        early = np.array([1.0 / (1 + sentence.place) for sentence in sentences])
        quality = np.array([readability(sentence.text) for sentence in sentences])
        central: NDArray[np.float64] = (size + early + cosine.clip(0)) / 3 * quality
        return central

    def _diverse(self, sentences: Sequence[_Sentence], similarity: NDArray[np.float64]) -> list[int]:
        if not sentences:
            return []
        vectors = self._embedder.embed([sentence.text for sentence in sentences])
        waiting, chosen = list(range(len(sentences))), list[int]()
        repeated = np.zeros(len(sentences))
        per_unit: Counter[int] = Counter()
        while waiting and len(chosen) < _MOST_SENTENCES:
            value = _DIVERSITY * similarity - (1 - _DIVERSITY) * repeated
            best = min(waiting, key=lambda i: (-value[i], i))
            waiting.remove(best)
            tokens = words(sentences[best].text)
            if per_unit[sentences[best].unit] >= _PER_REPORT or near_duplicate(
                tokens, (words(sentences[i].text) for i in chosen)
            ):
                continue
            chosen.append(best)
            per_unit[sentences[best].unit] += 1
            repeated = np.maximum(repeated, vectors @ vectors[best])
        return chosen


def _percentiles(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of all sentences that are not nearer to the question, for each sentence."""
    ordered = np.sort(similarity)
    return np.searchsorted(ordered, similarity, side="right") / max(len(ordered), 1)


def _partial(sentences: Sequence[_Sentence], percentiles: Sequence[float]) -> PartialAnswer:
    top = percentiles[:_TOP]
    mean = sum(top) / len(top) if top else 0.0
    kept: list[_Sentence] = []
    for sentence in sentences:
        if len(kept) == _PER_CHUNK:
            break
        if not near_duplicate(words(sentence.text), (words(other.text) for other in kept)):
            kept.append(sentence)
    return PartialAnswer(
        text=" ".join(sentence.text for sentence in kept),
        score=round(100 * mean) if mean >= 0.5 else 0,
        units=tuple(dict.fromkeys(sentence.unit for sentence in kept)),
        quotes=tuple((sentence.text, sentence.unit, sentence.quote) for sentence in kept),
    )
