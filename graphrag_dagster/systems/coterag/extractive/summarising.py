"""Summaries of communities made of sentences of the documents."""

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import Scores, comparable
from graphrag_dagster.kernel.tasks.ports import Engine
from graphrag_dagster.systems.coterag.tasks import CommunitySummary, SourceSentence, SummaryRequest
from graphrag_dagster.systems.coterag.terms import terms

#: What a further triple counts against being unlike what is chosen.
_BALANCE = 0.7
_TITLE_NAMES = 5


class ExtractiveCommunitySummariser:
    """Summarises communities in words of the documents.

    The title names the five best linked members. The text quotes sentences chosen by maximal marginal
    relevance, each for the triples that none before it states, and then lists exact names. Where no sentence
    states a triple, and for tiny communities, the triples themselves stand in its place.

    Args:
        most_words: of the sentences.
        exact_names: how many names are listed.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, most_words: int = 250, exact_names: int = 20) -> None:
        self._most_words = most_words
        self._exact_names = exact_names

    def summarise(self, requests: Sequence[SummaryRequest]) -> list[CommunitySummary]:
        """Return one summary per request."""
        return [self._summary(request) for request in requests]

    def _summary(self, request: SummaryRequest) -> CommunitySummary:
        chosen = [] if request.tiny else self._chosen(request)
        said = [one.text for one in chosen] or self._triples(request)
        names = f"Entities: {', '.join(request.exact_names(self._exact_names))}."
        return CommunitySummary(
            ", ".join(request.exact_names(_TITLE_NAMES)),
            " ".join([*said, names]),
            self.engine,
            tuple(one.quote for one in chosen),
        )

    def _chosen(self, request: SummaryRequest) -> list[SourceSentence]:
        """Sentences in the order of the corpus."""
        pool = request.sentences
        states = np.zeros((len(pool), len(request.triples)), dtype=np.bool_)
        for row, one in enumerate(pool):
            states[row, list(one.triples)] = True
        most = max(int(states.sum(axis=1).max(initial=0)), 1)
        stems = [terms(one.text) for one in pool]
        words = [len(one.text.split()) for one in pool]
        open_ = np.ones(len(pool), dtype=np.bool_)
        told = np.zeros(len(request.triples), dtype=np.bool_)
        likeness = np.zeros(len(pool))
        left = self._most_words
        places: list[int] = []
        while open_.any():
            new = (states & ~told).sum(axis=1)
            open_ &= (new > 0) & (np.array(words) <= left)
            if not open_.any():
                break
            best = _best(new / most, likeness, open_)
            open_[best] = False
            told |= states[best]
            left -= words[best]
            places.append(best)
            likeness = np.maximum(likeness, [_alike(stems[best], other) for other in stems])
        return [pool[place] for place in sorted(places)]

    def _triples(self, request: SummaryRequest) -> list[str]:
        said: list[str] = []
        left = self._most_words
        for triple in request.triples:
            left -= len(triple.text.split())
            if left < 0 and said:
                break
            said.append(triple.text)
        return said


def _best(gain: Scores, likeness: Scores, open_: NDArray[np.bool_]) -> int:
    value = comparable(_BALANCE * gain - (1 - _BALANCE) * likeness)
    return int(np.where(open_, value, -np.inf).argmax())


def _alike(one: set[str], other: set[str]) -> float:
    """Return the cosine of two sets of stems."""
    return len(one & other) / sqrt(len(one) * len(other)) if one and other else 0.0
