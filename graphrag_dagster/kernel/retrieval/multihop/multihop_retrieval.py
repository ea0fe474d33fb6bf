"""Follows a question from text unit to text unit: each is chosen by what is still unanswered."""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import Places
from graphrag_dagster.kernel.common.stable_values import Scores, comparable
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
            context = max((shares[at] for at in its_sentences), default=0.0)
            rare = log((size + 1) / (reach.spread + 1)) / log(size + 1)
            told.append((len(reach.units), rare, reach.spread, context, float(name in near)))
        if not units:
            return None
        counts = np.array([one[0] for one in told], dtype=np.int64)
        by_unit = np.repeat(np.array(told)[:, 1:], counts, axis=0)
        reached = np.concatenate(units)
        others = reached != unit
        kept = reached[others]
        rest, rest_words = self._rest(question, unit, kept)
        about, stands_there = np.concatenate(home)[others], np.concatenate(stands)[others]
        rare, spread, context, related = by_unit[others].T
        fewer = spread**-0.5
        columns = {
            "rare": rare,
            "few": fewer**2,
            "fewer": fewer,
            "about": about,
            "stands": stands_there,
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


Features = NDArray[np.float64]

#: How much each of ``DIRECT`` and ``PATH`` counts.
SHIPPED: Scores = np.array(
    [*(DIRECT_WEIGHTS[name] for name in DIRECT), *(PATH_WEIGHTS[name] for name in PATH)]
)

_POOL, _GROWTH = 60, 25
_AT_HOME, _SURELY_AT_HOME = 0.4, 0.6
_SOFTENED = 0.35
_BELOW = 1e-3
# From this share of its words on a clause counts as answered.
_CLAUSE_FOUND = 0.7
#: What a tenfold or other weight of a unit adds to what speaks for it, times the logarithm of the weight.
_FAVOURED = 2.0


class Following:
    """One question being followed.

    A question of several hops names one thing and asks about another that is only named where the first is
    described. The pool begins with the units that are like the question or about what it names. The unit that
    most speaks for is taken; its words and names count as found, and the names that stand in it lead to
    further units. So it goes on, unit after unit.

    Args:
        question: what there is to go by.
        passages: the units.
        weights: how much each of ``DIRECT`` and ``PATH`` counts.
        prior: weight of each unit: 0 leaves it out, 1 is neutral, more favours it; None: all 1.
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
        self._admit(
            [unit for unit in first_places(self._standing, _POOL).tolist() if self._standing[unit] > 0]
        )

    def ranked(self, steps: int) -> tuple[Places, Scores]:
        """Take so many units, and return all in order: those taken, those that were reached, the others.

        Args:
            steps: most units to take; fewer are where nothing else speaks for any.
        """
        while len(self.taken) < min(steps, len(self.pool)):
            self.take()
        scores = self.scores()
        still = first_places(scores)[: len(self.pool) - len(self.taken)]
        near = np.array([*self.taken, *(self.pool[place] for place in still.tolist())], dtype=np.int64)
        left = self._prior > 0
        left[near] = False
        others = np.flatnonzero(left)
        order = np.concatenate((near, others[first_places(self._standing[others])]))
        falling = np.concatenate((self._scores_when_taken, scores[still]))
        # A unit may score more than the one that led to it.
        falling = np.minimum.accumulate(falling)
        lowest = falling[-1] if len(falling) else 1.0
        below = lowest - 1 + _BELOW * self._standing[order[len(near) :]]
        return order, np.concatenate((falling, below))

    def features(self) -> Features:
        """Return what speaks for each unit of the pool as the next one [pool, DIRECT + PATH]."""
        q, pool = self._q, np.array(self.pool, dtype=np.int64)
        later = float(bool(self.taken))
        words, meaning, home = q.words[pool], q.meaning[pool], self._home[pool]
        new_home, new_mention, best_home = np.zeros(len(pool)), np.zeros(len(pool)), np.zeros(len(pool))
        for place, named in enumerate(q.named):
            if not self._mentioned[place]:
                np.maximum(new_mention, named.mention[pool], out=new_mention)
            if not self._homed[place]:
                own = named.home[pool]
                np.maximum(new_home, own, out=new_home)
                standing = np.where(own > 0, 2 * own + self.base[pool], 0.0)
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
        """The largest share of the question that a sentence of each unit of the pool has."""
        if not self.pool:
            return np.zeros(0)
        best: Scores = np.maximum.reduceat(self._sentences @ counts, self._begins)
        return best

    def _best_clause(self, present: NDArray[np.bool_]) -> Scores:
        """The largest share that each unit has of a clause of the question that is still open."""
        counts = self._q.clauses * self._q.counts
        whole = counts.sum(axis=1)
        still = (whole > 0) & (counts @ self._found < _CLAUSE_FOUND * whole)
        shares = (counts[still] @ present) / whole[still, None]
        best: Scores = (shares * np.minimum(1.0, 2 * whole[still, None])).max(axis=0, initial=0.0)
        return best

    def open(self) -> NDArray[np.bool_]:
        """Return which units of the pool are not yet taken."""
        still = np.ones(len(self.pool), dtype=np.bool_)
        still[[self._place[unit] for unit in self.taken]] = False
        return still

    def scores(self) -> Scores:
        """Return how much speaks for each unit of the pool; nothing, -inf, for those that are taken."""
        spoken = self.features() @ self._weights + self._favour[self.pool]
        return np.where(self.open(), comparable(spoken), -np.inf)

    def take(self) -> None:
        """Take the unit that most speaks for, and go where its names lead."""
        scores = self.scores()
        # A unit that is favoured is taken sooner, but leads no further.
        plain = scores - self._favour[self.pool]
        if not self.taken:
            self._at_first = dict(zip(self.pool, plain.tolist(), strict=True))
        best = int(scores.argmax())
        q, unit = self._q, self.pool[best]
        # What speaks for a second unit of a name that is already found is less than it was.
        score = max(float(plain[best]), self._at_first.get(unit, -np.inf))
        self._scores_when_taken.append(float(scores[best]))
        strength = exp(_SOFTENED * min(0.0, score - max(self._at_first.values())))
        self.taken.append(unit)
        self.strengths.append(strength)
        self._found |= q.present[:, unit]
        for at, named in enumerate(q.named):
            self._homed[at] = self._homed[at] or bool(named.home[unit] >= _AT_HOME)
            self._mentioned[at] = self._mentioned[at] or bool(named.mention[unit] > 0)
        self._alike = self._nearer(self._alike, self.pool, [unit])
        self._lead_on(unit, strength)

    def _nearer(self, known: Scores, units: list[int], others: list[int]) -> Scores:
        """The cosine of units to the nearest of those that were taken, with that to others."""
        if not (self._q.by_meaning and others):
            return known
        found = self._passages.alike(units, others)
        return found if len(self.taken) == len(others) else np.maximum(known, found)

    def _admit(self, units: list[int]) -> None:
        new = [unit for unit in units if unit not in self._place]
        if not new:
            return
        self._place |= {unit: place for place, unit in enumerate(new, start=len(self.pool))}
        self.pool += new
        found = [self._passages.sentences(self._q.finder, unit) for unit in new]
        sizes = [len(self._sentences), *map(len, found)]
        self._begins += np.cumsum(sizes[:-1]).tolist()
        self._sentences = np.concatenate((self._sentences, *found))
        self._alike = np.concatenate((self._alike, self._nearer(np.zeros(len(new)), new, self.taken)))

    def _sentences_of(self, unit: int) -> Features:
        place = self._place[unit]
        return self._sentences[slice(*[*self._begins, len(self._sentences)][place : place + 2])]

    def _lead_on(self, unit: int, strength: float) -> None:
        ways = self._passages.ways(self._q, unit, self._sentences_of(unit))
        if ways is None:
            return
        units, columns = ways
        likely = columns @ self._path_weights
        best = np.full(len(self.base), -np.inf)
        np.maximum.at(best, units, likely)
        reached = np.flatnonzero((best > -np.inf) & (self._prior > 0))
        likely_next = best[reached] + self._favour[reached] + self.base[reached]
        order = np.lexsort((reached, -comparable(likely_next)))
        self._admit(reached[order[:_GROWTH]].tolist())
        self._paths = _best_of_each(
            np.concatenate((self._paths[0], units)),
            np.vstack((self._paths[1], columns * strength)),
            self._path_weights,
        )

    def _best_paths(self, pool: Places) -> Features:
        found = np.zeros((len(pool), len(PATH)))
        units, columns = self._paths
        places = [self._place.get(unit, -1) for unit in units.tolist()]
        inside = [at for at, place in enumerate(places) if place >= 0]
        found[[places[at] for at in inside]] = columns[inside]
        return found


def _best_of_each(units: Places, columns: Features, weights: Features) -> tuple[Places, Features]:
    """The way to each unit that most speaks for it, if it does at all; of equal ones the last."""
    worth = comparable(columns @ weights)
    order = np.lexsort((worth, units))
    last = order[np.append(units[order][1:] != units[order][:-1], True)] if len(order) else order
    last = last[worth[last] > 0]
    return units[last], columns[last]
