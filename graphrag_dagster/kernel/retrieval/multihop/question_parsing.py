"""What a question says: its names, its clauses, and the features of a text unit as the next hop."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.packed_arrays import Places, Weights
from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.retrieval.entity_linking import EntityLink, EntityLinks
from graphrag_dagster.kernel.retrieval.lexical_index import Terms
from graphrag_dagster.kernel.retrieval.multihop.name_graph import NameGraph
from graphrag_dagster.kernel.retrieval.ranking import Likeness, z_scores
from graphrag_dagster.kernel.retrieval.search_words import TermFinder, WordForms, words
from graphrag_dagster.kernel.text.english_words import STOP_WORDS

#: What speaks for a unit by itself, and beside those that were taken before it.
DIRECT = (
    "words", "meaning", "home", "mention", "part", "sentence", "new_home", "new_mention", "new_words",
    "other_words", "sure_home", "later_words", "later_meaning", "later_home", "alike", "best_home",
    "new_sentence", "clause",
)  # fmt: skip
#: What speaks for a unit by the best way to it from a unit that was taken: through a name that stands there.
PATH = (
    "rare", "few", "fewer", "about", "stands", "context", "related", "rest", "rest_words", "fewer_about",
    "fewer_context", "about_context", "about_rest", "about_rest_words", "rare_about", "rare_stands",
    "rare_rest_words", "source",
)  # fmt: skip


_RUN = 0.9
_TINY = 1e-9
_LED, _ONE_WORD, _SUBJECT = 0.8, 0.5, 0.3
_MOST_UNITS = 40
_BEFORE_SUBJECT = re.compile(r"(?:^|[.!?][\"”’)]?\s+|\n)[\"“‘']?(?:The |An? )?$")
_BEFORE = 8
# Subjects of units, at about 1 kB each.
_SUBJECTS_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Reach:
    """The ``units`` a name leads to, how much each is about it (``home``, 0–1), and whether it stands there.

    ``spread`` is the number of units in which it stands or that are about it, at least 1: of a frequent name
    not all of them are among the units.
    """

    units: Places
    home: Weights
    stands: Weights
    spread: int


class NameReach:
    """Says where names lead, and keeps it of as many as were asked for last.

    Args:
        graph: the names.
        texts: the units' texts.
    """

    def __init__(self, graph: NameGraph, texts: Sequence[str] | pl.Series) -> None:
        self._graph = graph
        self._texts = texts
        self._known = lru_cache(_SUBJECTS_KEPT)(self._reach)

    def of(self, name: int) -> Reach:
        """Return where a name leads; to at most 40 units that are about it, and 40 in which it stands."""
        return self._known(name)

    def homes(self, name: int) -> dict[int, float]:
        """Return all units that are about a name, and how much."""
        graph = self._graph
        found = dict(zip(graph.home.of(name).tolist(), graph.home.weights_of(name).tolist(), strict=True))
        for unit, strength in self.about(words(graph.names[name])).items():
            found[unit] = max(found.get(unit, 0.0), strength)
        return found

    def about(self, spelled: Sequence[str]) -> dict[int, float]:
        """Return the units that begin with some words as their subject, and how much they are about it."""
        whole = _LED if len(spelled) > 1 else _LED * _ONE_WORD
        return {unit: whole * share**0.5 for unit, share in self._graph.leads.about(spelled).items()}

    def _reach(self, name: int) -> Reach:
        homes, stands = self.homes(name), self._graph.mentions.of(name)
        spread = max(len(stands), len(homes), 1)
        if len(stands) > _MOST_UNITS:
            stands = stands[:0]
        for unit in stands.tolist():
            if homes.get(unit, 0.0) < _SUBJECT and self._is_subject(name, unit):
                homes[unit] = _SUBJECT
        best = sorted(homes, key=lambda unit: (-homes[unit], unit))[:_MOST_UNITS]
        there = set(stands.tolist())
        units = sorted(there.union(best))
        home = np.array([homes.get(unit, 0.0) for unit in units])
        is_there = np.array([unit in there for unit in units], dtype=np.float64)
        return Reach(np.array(units, dtype=np.int64), home, is_there, spread)

    def _is_subject(self, name: int, unit: int) -> bool:
        text, spelled = self._texts[unit], self._graph.names[name]
        at = text.find(spelled)
        while at >= 0:
            if _BEFORE_SUBJECT.search(text[max(0, at - _BEFORE) : at]):
                return True
            at = text.find(spelled, at + 1)
        return False


@dataclass(frozen=True, slots=True)
class NamedReach:
    """Something a question names, perhaps one of several of that name: how much each unit is about it
    (``home``), and how surely it stands there (``mention``), 0–1; ``weight`` is how far retrieval goes by it.
    """

    home: Scores
    mention: Scores
    weight: float


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question gives to go by.

    Attributes:
        words: likeness of each unit by words, 1 for the best.
        meaning: the same by vectors, 0 for the average and below.
        terms: the stems of the question.
        present: which unit has which stem [stems, units].
        counts: how much each stem counts.
        other: the same without those of the names.
        finder: finds the stems in texts.
        named: what the question names.
        partly: how much each unit is about what the question may name.
        given: places of the names that the question names.
        by_meaning: units are compared by vectors.
        clauses: which of the stems each part of the question has [parts, stems].
    """

    words: Scores
    meaning: Scores
    terms: Terms
    present: NDArray[np.bool_]
    counts: Scores
    other: Scores
    finder: TermFinder
    named: tuple[NamedReach, ...]
    partly: Scores
    given: frozenset[int]
    by_meaning: bool
    clauses: NDArray[np.bool_]

    @property
    def home(self) -> Scores:
        """How much each unit is about anything that the question names."""
        return best_of([one.home for one in self.named], len(self.words))

    @property
    def mention(self) -> Scores:
        """The share of what the question names that stands in each unit."""
        whole = sum(one.weight for one in self.named) or 1.0
        found = np.zeros(len(self.words))
        for one in self.named:
            found += one.mention * (one.weight / whole)
        return found


def read_question(
    links: EntityLinks,
    terms: Terms,
    likeness: Likeness,
    graph: NameGraph,
    reaching: NameReach,
    parts: Sequence[Set[str]],
) -> ParsedQuestion:
    """Read a question.

    Args:
        links: the names in it.
        terms: its words.
        likeness: of each unit to it.
        graph: the names and units.
        reaching: where names lead.
        parts: stems of what the question may be taken apart into.
    """
    size, meaning = terms.size, likeness.meaning
    counts = terms.weights
    named = [link for link in links.found if link.named]
    own = {word for link in named for word in links.words.folded[link.start : link.end]}
    asked = np.array(
        [not any(word.startswith(stem[:-1]) for word in own) for stem in terms.stems], dtype=bool
    )
    partly = np.zeros(size)
    for link in links.found:
        if not link.named:
            for unit, home in reaching.homes(link.place).items():
                partly[unit] = max(partly[unit], link.sure * home)
    return ParsedQuestion(
        words=np.zeros(size) if likeness.words is None else _of_best(likeness.words),
        meaning=np.zeros(size) if meaning is None else _of_best(np.clip(z_scores(meaning), 0, None)),
        terms=terms,
        present=terms.present(),
        counts=counts / max(float(counts.sum()), _TINY),
        other=counts * asked / max(float((counts * asked).sum()), _TINY),
        finder=TermFinder(terms.stems),
        named=(*_named(named, graph, reaching, size), *_runs(links, reaching, size)),
        partly=partly,
        given=frozenset(link.place for link in named),
        by_meaning=meaning is not None,
        clauses=np.array([[stem in part for stem in terms.stems] for part in parts], dtype=np.bool_).reshape(
            len(parts), len(terms.stems)
        ),
    )


def best_of(scores: Sequence[Scores], size: int) -> Scores:
    """Return the highest of several scores of each unit; zeros where there are none."""
    found = np.zeros(size)
    for one in scores:
        np.maximum(found, one, out=found)
    return found


def _named(links: Sequence[EntityLink], graph: NameGraph, reaching: NameReach, size: int) -> list[NamedReach]:
    of_span: dict[tuple[int, int], list[EntityLink]] = {}
    for link in sorted(links, key=lambda one: (one.start, one.place)):
        of_span.setdefault((link.start, link.end), []).append(link)
    found = []
    for span in of_span.values():
        home, mention = np.zeros(size), np.zeros(size)
        for link in span:
            for unit, strength in reaching.homes(link.place).items():
                home[unit] = max(home[unit], link.sure * strength)
            units = graph.mentions.of(link.place)
            mention[units] = np.maximum(mention[units], link.sure)
        mention = np.maximum(mention, (home > 0).astype(np.float64))
        found.append(NamedReach(home, mention, max(link.weight for link in span)))
    return found


def _runs(links: EntityLinks, reaching: NameReach, size: int) -> list[NamedReach]:
    """What units are about that the question writes as one name, though no name is spelled so."""
    found = []
    for start, end in _capital_runs(links.words):
        if any(link.start <= start and end <= link.end and link.how == "exact" for link in links.found):
            continue
        about = reaching.about(links.words.folded[start:end])
        if about:
            home = np.zeros(size)
            for unit, strength in about.items():
                home[unit] = _RUN * strength
            found.append(NamedReach(home, (home > 0).astype(np.float64), 1.0))
    return found


def _capital_runs(found: WordForms) -> list[tuple[int, int]]:
    """Rows of at least two words with capitals; words without meaning of their own may stand between."""
    runs, start, last = [], None, 0
    for at, word in enumerate(found.folded):
        if found.capital(at) and not (found.begins[at] and word in STOP_WORDS):
            start, last = (at if start is None else start), at
        elif start is not None and word not in STOP_WORDS:
            runs.append((start, last + 1))
            start = None
    if start is not None:
        runs.append((start, last + 1))
    return [(start, end) for start, end in runs if end - start > 1]


def _of_best(scores: Scores) -> Scores:
    best = float(scores.max(initial=0.0))
    shares: Scores = scores / best if best > 0 else np.zeros_like(scores)
    return shares
