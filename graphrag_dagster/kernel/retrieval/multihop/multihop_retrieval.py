"""Multi-hop retrieval: selects text units one after another by what is still unanswered."""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import Places
from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.kernel.retrieval.entity_linking import NameLinker
from graphrag_dagster.kernel.retrieval.multihop.hop_weights import DIRECT_WEIGHTS, PATH_WEIGHTS
from graphrag_dagster.kernel.retrieval.multihop.name_graph import NameGraph
from graphrag_dagster.kernel.retrieval.multihop.question_parsing import (
    DIRECT,
    PATH,
    NameReach,
    ParsedQuestion,
)
from graphrag_dagster.kernel.retrieval.ranking import Vectors, first_places
from graphrag_dagster.kernel.retrieval.search_words import (
    SentenceWords,
    TermFinder,
    sentence_words,
    sentences,
    words,
)

_TINY = 1e-9
# Number of units; the words of one take 1 to 10 kB.
_KEPT = 5_000


class Passages:
    """Parses text units on demand and caches the results of the most recent ones.

    Args:
        texts: of the units.
        graph: names and units.
        linker: finds names in texts, in addition to the entities extracted from a unit.
        reaching: which units a name leads to.
        vectors: of the units [n, d], or None.
    """

    def __init__(
        self,
        texts: Sequence[str],
        graph: NameGraph,
        linker: NameLinker,
        reaching: NameReach,
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
        return finder.find(self._words(unit))

    def names(self, unit: int) -> dict[int, tuple[int, ...]]:
        """Return the names in a unit, each with the sentences in which it was found."""
        return self._names(unit)

    def cosines_to_nearest(self, units: Sequence[int], others: Sequence[int]) -> NDArray[np.float64]:
        """Return the cosine of each unit to the nearest of others; 0 without vectors or others."""
        if self._vectors is None or not others:
            return np.zeros(len(units))
        # Pairwise products give the same bits whatever else is compared.
        cosines = np.einsum("ud,od->uo", self._vectors[list(units)], self._vectors[list(others)])
        nearest: NDArray[np.float64] = round_for_comparison(cosines.max(axis=1))
        return nearest

    def paths_from(
        self, question: ParsedQuestion, unit: int, stems: NDArray[np.float64]
    ) -> tuple[Places, NDArray[np.float64]] | None:
        """Return the units that the names in a unit lead to, with path features [paths, PATH].

        Args:
            question: the question.
            unit: the unit.
            stems: which sentence has which stem [sentences, stems].
        """
        shares = (stems @ question.counts).tolist()
        related_names = self._related_names(question, unit)
        size = len(self._texts)
        units, home, contains, name_features = [], [], [], []
        for name, sentence_positions in self.names(unit).items():
            if name in question.given:
                continue
            reach = self._reaching.of(name)
            units.append(reach.units)
            home.append(reach.home)
            contains.append(reach.stands)
            context = max((shares[position] for position in sentence_positions), default=0.0)
            rare = log((size + 1) / (reach.spread + 1)) / log(size + 1)
            name_features.append(
                (len(reach.units), rare, reach.spread, context, float(name in related_names))
            )
        if not units:
            return None
        counts = np.array([features[0] for features in name_features], dtype=np.int64)
        by_path = np.repeat(np.array(name_features)[:, 1:], counts, axis=0)
        reached = np.concatenate(units)
        others = reached != unit
        targets = reached[others]
        rest, rest_words = self._remaining_question(question, unit, targets)
        about, contains_name = np.concatenate(home)[others], np.concatenate(contains)[others]
        rare, spread, context, related = by_path[others].T
        fewer = spread**-0.5
        columns = {
            "rare": rare,
            "few": fewer**2,
            "fewer": fewer,
            "about": about,
            "stands": contains_name,
            "context": context,
            "related": related,
            "rest": rest,
            "rest_words": rest_words,
            "fewer_about": fewer * about,
            "fewer_context": fewer * context,
            "about_context": about * context,
            "about_rest": about * rest,
            "about_rest_words": about * rest_words,
            "rare_about": rare * about,
            "rare_stands": rare * contains_name,
            "rare_rest_words": rare * rest_words,
            "source": np.ones(len(targets)),
        }
        return targets, np.column_stack([columns[name] for name in PATH])

    def _remaining_question(
        self, question: ParsedQuestion, unit: int, reached: Places
    ) -> tuple[NDArray[np.float64], ...]:
        """Return what reached units have of the question that a unit lacks: share of stems, BM25 share."""
        missing = ~question.present[:, unit]
        by_words = question.terms.sums(missing)
        best = max(float(by_words.max(initial=0.0)), _TINY)
        return (question.counts * missing) @ question.present[:, reached], by_words[reached] / best

    def _related_names(self, question: ParsedQuestion, unit: int) -> set[int]:
        """Return the names related to a name in the question or to a subject of the unit."""
        # NumPy's set functions import its masked arrays, which takes 30 ms.
        anchors = np.array(sorted({*self._graph.subjects.of(unit).tolist(), *question.given}), dtype=np.int64)
        _, related_names, _ = self._graph.related.of_all(anchors)
        return set(related_names.tolist())

    def _read_words(self, unit: int) -> SentenceWords:
        return sentence_words(self._texts[unit])

    def _read_names(self, unit: int) -> dict[int, tuple[int, ...]]:
        sentences_of: dict[int, list[int]] = {name: [] for name in self._graph.within.of(unit).tolist()}
        for number, sentence in enumerate(sentences(self._texts[unit])):
            for mention in self._linker.mentions(words(sentence)):
                for name in mention.places:
                    sentences_of.setdefault(name, []).append(number)
        return {name: tuple(numbers) for name, numbers in sorted(sentences_of.items())}


Features = NDArray[np.float64]

#: Weights of the features ``DIRECT`` and ``PATH``.
SHIPPED: Scores = np.array(
    [*(DIRECT_WEIGHTS[name] for name in DIRECT), *(PATH_WEIGHTS[name] for name in PATH)]
)

_POOL, _GROWTH = 60, 25
_AT_HOME, _SURELY_AT_HOME = 0.4, 0.6
_SOFTENED = 0.35
_BELOW = 1e-3
# Share of its words from which a clause counts as answered.
_CLAUSE_FOUND = 0.7
#: Score that is added to a unit, times the logarithm of its weight.
_FAVOURED = 2.0


class Following:
    """Follows one question through the text units.

    A multi-hop question names one thing and asks about another that is only named where the first is
    described. The pool begins with the units that resemble the question or are about its names. The unit with
    the highest score is taken. Its words and names then count as found, and the names in it lead to further
    units, from which the next one is taken.

    Args:
        question: the parsed question.
        passages: the units.
        weights: of the features ``DIRECT`` and ``PATH``.
        prior: weight of each unit: 0 excludes it, 1 is neutral, more favours it; None: all 1.
    """

    def __init__(
        self, question: ParsedQuestion, passages: Passages, weights: Features, prior: Scores | None = None
    ) -> None:
        self._q = question
        self._passages = passages
        self._weights = weights
        self._path_weights = weights[len(DIRECT) :]
        self._home, self._mention = question.home, question.mention
        base = question.words + question.meaning + 1.5 * self._home + 0.5 * (self._mention + question.partly)
        self.base: Scores = base
        self._prior = np.ones(len(base)) if prior is None else prior
        self._favour = _FAVOURED * np.log(self._prior, where=self._prior > 0, out=np.zeros(len(base)))
        self._standing: Scores = base * self._prior
        self.pool: list[int] = []
        self._place: dict[int, int] = {}
        self._sentences: Features = np.zeros((0, len(question.terms.stems)))
        self._begins: list[int] = []
        self._alike = np.zeros(0)
        self.taken: list[int] = []
        self.strengths: list[float] = []
        self._found = np.zeros(len(question.terms.stems), dtype=bool)
        self._homed = [False] * len(question.named)
        self._mentioned = [False] * len(question.named)
        self._paths: tuple[Places, Features] = (np.zeros(0, dtype=np.int64), np.zeros((0, len(PATH))))
        self._at_first: dict[int, float] = {}
        self._scores_when_taken: list[float] = []
        self._admit_units(
            [unit for unit in first_places(self._standing, _POOL).tolist() if self._standing[unit] > 0]
        )

    def ranked(self, steps: int) -> tuple[Places, Scores]:
        """Take up to ``steps`` units, and rank all: taken units, then reached units, then the others.

        Args:
            steps: most units to take.
        """
        while len(self.taken) < min(steps, len(self.pool)):
            self.take()
        scores = self.scores()
        remaining = first_places(scores)[: len(self.pool) - len(self.taken)]
        reached = np.array(
            [*self.taken, *(self.pool[position] for position in remaining.tolist())], dtype=np.int64
        )
        is_other = self._prior > 0
        is_other[reached] = False
        others = np.flatnonzero(is_other)
        order = np.concatenate((reached, others[first_places(self._standing[others])]))
        descending = np.concatenate((self._scores_when_taken, scores[remaining]))
        # A unit may score higher than the one that led to it.
        descending = np.minimum.accumulate(descending)
        lowest = descending[-1] if len(descending) else 1.0
        lower_scores = lowest - 1 + _BELOW * self._standing[order[len(reached) :]]
        return order, np.concatenate((descending, lower_scores))

    def features(self) -> Features:
        """Return the features of each unit of the pool as the next hop [pool, DIRECT + PATH]."""
        q, pool = self._q, np.array(self.pool, dtype=np.int64)
        later = float(bool(self.taken))
        words, meaning, home = q.words[pool], q.meaning[pool], self._home[pool]
        new_home, new_mention, best_home = np.zeros(len(pool)), np.zeros(len(pool)), np.zeros(len(pool))
        for position, named in enumerate(q.named):
            if not self._mentioned[position]:
                np.maximum(new_mention, named.mention[pool], out=new_mention)
            if not self._homed[position]:
                home_of_name = named.home[pool]
                np.maximum(new_home, home_of_name, out=new_home)
                standing = np.where(home_of_name > 0, 2 * home_of_name + self.base[pool], 0.0)
                best_home[(standing > 0) & (standing >= standing.max(initial=0.0))] = 1.0
        present = q.present[:, pool]
        sentence, new_sentence = self._best_sentences(q.counts), self._best_sentences(q.counts * ~self._found)
        columns = {
            "words": words,
            "meaning": meaning,
            "home": home,
            "mention": self._mention[pool],
            "part": q.partly[pool],
            "sentence": sentence,
            "new_home": new_home,
            "new_mention": new_mention,
            "new_words": (q.counts * ~self._found) @ present,
            "other_words": q.other @ present,
            "sure_home": (home >= _SURELY_AT_HOME) * 1.0,
            "later_words": words * later,
            "later_meaning": meaning * later,
            "later_home": home * later,
            "alike": self._alike,
            "best_home": best_home,
            "new_sentence": new_sentence,
            "clause": self._best_clause(present),
        }
        return np.column_stack([*(columns[name] for name in DIRECT), self._best_paths(pool)])

    def _best_sentences(self, counts: Scores) -> Scores:
        """Return the largest share of the question in a sentence of each unit of the pool."""
        if not self.pool:
            return np.zeros(0)
        best: Scores = np.maximum.reduceat(self._sentences @ counts, self._begins)
        return best

    def _best_clause(self, present: NDArray[np.bool_]) -> Scores:
        """Return the largest share of an open clause of the question in each unit."""
        counts = self._q.clauses * self._q.counts
        totals = counts.sum(axis=1)
        is_open = (totals > 0) & (counts @ self._found < _CLAUSE_FOUND * totals)
        shares = (counts[is_open] @ present) / totals[is_open, None]
        best: Scores = (shares * np.minimum(1.0, 2 * totals[is_open, None])).max(axis=0, initial=0.0)
        return best

    def not_taken(self) -> NDArray[np.bool_]:
        """Return which units of the pool are not taken yet."""
        is_open = np.ones(len(self.pool), dtype=np.bool_)
        is_open[[self._place[unit] for unit in self.taken]] = False
        return is_open

    def scores(self) -> Scores:
        """Return the score of each unit of the pool; -inf for those taken."""
        raw = self.features() @ self._weights + self._favour[self.pool]
        return np.where(self.not_taken(), round_for_comparison(raw), -np.inf)

    def take(self) -> None:
        """Take the unit with the highest score and follow its names."""
        scores = self.scores()
        # A favoured unit is taken sooner but does not lead further.
        unfavoured = scores - self._favour[self.pool]
        if not self.taken:
            self._at_first = dict(zip(self.pool, unfavoured.tolist(), strict=True))
        best = int(scores.argmax())
        q, unit = self._q, self.pool[best]
        # The score of a second unit for an already found name has dropped since the start.
        score = max(float(unfavoured[best]), self._at_first.get(unit, -np.inf))
        self._scores_when_taken.append(float(scores[best]))
        strength = exp(_SOFTENED * min(0.0, score - max(self._at_first.values())))
        self.taken.append(unit)
        self.strengths.append(strength)
        self._found |= q.present[:, unit]
        for position, named in enumerate(q.named):
            self._homed[position] = self._homed[position] or bool(named.home[unit] >= _AT_HOME)
            self._mentioned[position] = self._mentioned[position] or bool(named.mention[unit] > 0)
        self._alike = self._redundancy(self._alike, self.pool, [unit])
        self._follow_paths(unit, strength)

    def _redundancy(self, known: Scores, units: list[int], others: list[int]) -> Scores:
        """Return the cosine of units to the nearest taken unit, updated with others."""
        if not (self._q.by_meaning and others):
            return known
        cosines = self._passages.cosines_to_nearest(units, others)
        return cosines if len(self.taken) == len(others) else np.maximum(known, cosines)

    def _admit_units(self, units: list[int]) -> None:
        admitted = [unit for unit in units if unit not in self._place]
        if not admitted:
            return
        self._place |= {unit: position for position, unit in enumerate(admitted, start=len(self.pool))}
        self.pool += admitted
        stems_by_sentence = [self._passages.sentences(self._q.finder, unit) for unit in admitted]
        sizes = [len(self._sentences), *map(len, stems_by_sentence)]
        self._begins += np.cumsum(sizes[:-1]).tolist()
        self._sentences = np.concatenate((self._sentences, *stems_by_sentence))
        self._alike = np.concatenate(
            (self._alike, self._redundancy(np.zeros(len(admitted)), admitted, self.taken))
        )

    def _sentences_of(self, unit: int) -> Features:
        position = self._place[unit]
        return self._sentences[slice(*[*self._begins, len(self._sentences)][position : position + 2])]

    def _follow_paths(self, unit: int, strength: float) -> None:
        paths = self._passages.paths_from(self._q, unit, self._sentences_of(unit))
        if paths is None:
            return
        units, columns = paths
        path_scores = columns @ self._path_weights
        best = np.full(len(self.base), -np.inf)
        np.maximum.at(best, units, path_scores)
        reached = np.flatnonzero((best > -np.inf) & (self._prior > 0))
        scores = best[reached] + self._favour[reached] + self.base[reached]
        order = np.lexsort((reached, -round_for_comparison(scores)))
        self._admit_units(reached[order[:_GROWTH]].tolist())
        self._paths = _best_path_to_each(
            np.concatenate((self._paths[0], units)),
            np.vstack((self._paths[1], columns * strength)),
            self._path_weights,
        )

    def _best_paths(self, pool: Places) -> Features:
        features = np.zeros((len(pool), len(PATH)))
        units, columns = self._paths
        positions = [self._place.get(unit, -1) for unit in units.tolist()]
        rows = [row for row, position in enumerate(positions) if position >= 0]
        features[[positions[row] for row in rows]] = columns[rows]
        return features


def _best_path_to_each(units: Places, columns: Features, weights: Features) -> tuple[Places, Features]:
    """Return the path with the highest positive score to each unit; the last of ties."""
    scores = round_for_comparison(columns @ weights)
    order = np.lexsort((scores, units))
    last = order[np.append(units[order][1:] != units[order][:-1], True)] if len(order) else order
    last = last[scores[last] > 0]
    return units[last], columns[last]
