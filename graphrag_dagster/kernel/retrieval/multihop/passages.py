"""The units of a corpus as a question is followed through them."""

from collections.abc import Sequence
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.stable_scores import comparable
from graphrag_dagster.kernel.retrieval.linking.linking import NameLinker
from graphrag_dagster.kernel.retrieval.lists import Places
from graphrag_dagster.kernel.retrieval.multihop.asking import ParsedQuestion, Reaching
from graphrag_dagster.kernel.retrieval.multihop.features import PATH
from graphrag_dagster.kernel.retrieval.multihop.names import NameGraph
from graphrag_dagster.kernel.retrieval.ranking import Vectors
from graphrag_dagster.kernel.retrieval.words import (
    SentenceWords,
    TermFinder,
    sentence_words,
    sentences,
    words,
)

_TINY = 1e-9
# Units; the words of one are 1 to 10 kB.
_KEPT = 5_000


class Passages:
    """Reads units when a question comes to them, and keeps what it read of those it came to last.

    Args:
        texts: the units' texts.
        graph: names and units.
        linker: finds the graph's names in texts; what it finds in a unit adds to the unit's entities.
        reaching: where names lead.
        vectors: of the units [n, d], or None.
    """

    def __init__(
        self,
        texts: Sequence[str],
        graph: NameGraph,
        linker: NameLinker,
        reaching: Reaching,
        vectors: Vectors | None,
    ) -> None:
        self._texts = texts
        self._graph = graph
        self._linker = linker
        self._reaching = reaching
        self._vectors = vectors
        self._words = lru_cache(_KEPT)(self._read_words)
        self._names = lru_cache(_KEPT)(self._read_names)

    def sentences(self, finder: TermFinder, unit: int) -> NDArray[np.bool_]:
        """Return which sentence of a unit has which stem of the question [sentences, stems]."""
        return finder.found(self._words(unit))

    def names(self, unit: int) -> dict[int, tuple[int, ...]]:
        """Return the names that stand in a unit, each with the sentences in which it was found."""
        return self._names(unit)

    def alike(self, units: Sequence[int], others: Sequence[int]) -> NDArray[np.float64]:
        """Return the cosine of each of some units to the nearest of others; 0 without vectors or others."""
        if self._vectors is None or not others:
            return np.zeros(len(units))
        # As products of pairs, a cosine is the same bits whatever else is compared.
        cosines = np.einsum("ud,od->uo", self._vectors[list(units)], self._vectors[list(others)])
        nearest: NDArray[np.float64] = comparable(cosines.max(axis=1))
        return nearest

    def ways(
        self, question: ParsedQuestion, unit: int, stems: NDArray[np.float64]
    ) -> tuple[Places, NDArray[np.float64]] | None:
        """Return the units that the names in a unit lead to, and what speaks for each way [ways, PATH].

        Args:
            question: the question.
            unit: the unit.
            stems: which of its sentences has which stem [sentences, stems].
        """
        shares = (stems @ question.counts).tolist()
        near = self._near(question, unit)
        size = len(self._texts)
        units, home, stands, told = [], [], [], []
        for name, its_sentences in self.names(unit).items():
            if name in question.given:
                continue
            reach = self._reaching.of(name)
            units.append(reach.units)
            home.append(reach.home)
            stands.append(reach.stands)
            beside = max((shares[at] for at in its_sentences), default=0.0)
            rare = log((size + 1) / (reach.spread + 1)) / log(size + 1)
            told.append((len(reach.units), rare, reach.spread, beside, float(name in near)))
        if not units:
            return None
        counts = np.array([one[0] for one in told], dtype=np.int64)
        by_way = np.repeat(np.array(told)[:, 1:], counts, axis=0)
        reached = np.concatenate(units)
        others = reached != unit
        kept = reached[others]
        rest, rest_words = self._rest(question, unit, kept)
        about, stands_there = np.concatenate(home)[others], np.concatenate(stands)[others]
        rare, spread, beside, related = by_way[others].T
        fewer = spread**-0.5
        columns = {
            "rare": rare,
            "few": fewer**2,
            "fewer": fewer,
            "about": about,
            "stands": stands_there,
            "beside": beside,
            "related": related,
            "rest": rest,
            "rest_words": rest_words,
            "fewer_about": fewer * about,
            "fewer_beside": fewer * beside,
            "about_beside": about * beside,
            "about_rest": about * rest,
            "about_rest_words": about * rest_words,
            "rare_about": rare * about,
            "rare_stands": rare * stands_there,
            "rare_rest_words": rare * rest_words,
            "source": np.ones(len(kept)),
        }
        return kept, np.column_stack([columns[name] for name in PATH])

    def _rest(self, question: ParsedQuestion, unit: int, reached: Places) -> tuple[NDArray[np.float64], ...]:
        """How much of what a unit does not have of the question each reached unit has."""
        missing = ~question.present[:, unit]
        by_words = question.terms.sums(missing)
        best = max(float(by_words.max(initial=0.0)), _TINY)
        return (question.counts * missing) @ question.present[:, reached], by_words[reached] / best

    def _near(self, question: ParsedQuestion, unit: int) -> set[int]:
        """Names that have a relationship with what the question names, or with what the unit is about."""
        # Of NumPy's set functions each imports its masked arrays, at 30 ms.
        anchors = np.array(sorted({*self._graph.subjects.of(unit).tolist(), *question.given}), dtype=np.int64)
        _, near, _ = self._graph.related.of_all(anchors)
        return set(near.tolist())

    def _read_words(self, unit: int) -> SentenceWords:
        return sentence_words(self._texts[unit])

    def _read_names(self, unit: int) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {name: [] for name in self._graph.within.of(unit).tolist()}
        for at, sentence in enumerate(sentences(self._texts[unit])):
            for mention in self._linker.mentions(words(sentence)):
                for place in mention.places:
                    found.setdefault(place, []).append(at)
        return {name: tuple(at) for name, at in sorted(found.items())}
