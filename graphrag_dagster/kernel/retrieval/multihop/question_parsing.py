"""Parses questions for multi-hop retrieval: names, clauses, and features of the next hop."""

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

#: Features of a unit by itself and relative to the units taken before it.
DIRECT = (
    "words", "meaning", "home", "mention", "part", "sentence", "new_home", "new_mention", "new_words",
    "other_words", "sure_home", "later_words", "later_meaning", "later_home", "alike", "best_home",
    "new_sentence", "clause",
)  # fmt: skip
#: Features of the best path to a unit from a taken unit, through a name in that unit.
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
# Number of cached reaches, at about 1 kB each.
_SUBJECTS_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Reach:
    """The ``units`` a name leads to, how much each is about it (``home``, 0–1), and whether it mentions it.

    ``spread`` is the number of units that mention it or are about it, at least 1; ``units`` has only some of
    them for a frequent name.
    """

    units: Places
    home: Weights
    stands: Weights
    spread: int


class NameReach:
    """Finds the units that names lead to, with a cache of the most recent ones.

    Args:
        graph: the names.
        texts: of the units.
    """

    def __init__(self, graph: NameGraph, texts: Sequence[str] | pl.Series) -> None:
        self._graph = graph
        self._texts = texts
        self._known = lru_cache(_SUBJECTS_KEPT)(self._reach)

    def of(self, name: int) -> Reach:
        """Return the reach of a name: up to 40 units about it and 40 that mention it."""
        return self._known(name)

    def homes(self, name: int) -> dict[int, float]:
        """Return all units about a name, and how much each is."""
        graph = self._graph
        strengths = dict(zip(graph.home.of(name).tolist(), graph.home.weights_of(name).tolist(), strict=True))
        for unit, strength in self.about(words(graph.names[name])).items():
            strengths[unit] = max(strengths.get(unit, 0.0), strength)
        return strengths

    def about(self, spelled: Sequence[str]) -> dict[int, float]:
        """Return the units that begin with the given words as subject, and how much each is about it."""
        full_strength = _LED if len(spelled) > 1 else _LED * _ONE_WORD
        return {unit: full_strength * share**0.5 for unit, share in self._graph.leads.about(spelled).items()}

    def _reach(self, name: int) -> Reach:
        homes, mentions = self.homes(name), self._graph.mentions.of(name)
        spread = max(len(mentions), len(homes), 1)
        if len(mentions) > _MOST_UNITS:
            mentions = mentions[:0]
        for unit in mentions.tolist():
            if homes.get(unit, 0.0) < _SUBJECT and self._is_subject(name, unit):
                homes[unit] = _SUBJECT
        best = sorted(homes, key=lambda unit: (-homes[unit], unit))[:_MOST_UNITS]
        mentioning = set(mentions.tolist())
        units = sorted(mentioning.union(best))
        home = np.array([homes.get(unit, 0.0) for unit in units])
        is_mentioned = np.array([unit in mentioning for unit in units], dtype=np.float64)
        return Reach(np.array(units, dtype=np.int64), home, is_mentioned, spread)

    def _is_subject(self, name: int, unit: int) -> bool:
        text, spelled = self._texts[unit], self._graph.names[name]
        position = text.find(spelled)
        while position >= 0:
            if _BEFORE_SUBJECT.search(text[max(0, position - _BEFORE) : position]):
                return True
            position = text.find(spelled, position + 1)
        return False


@dataclass(frozen=True, slots=True)
class NamedReach:
    """A name in a question, or several of the same words: how much each unit is about it (``home``), the
    confidence that the unit mentions it (``mention``), both 0–1, and the ``weight`` of the name.
    """

    home: Scores
    mention: Scores
    weight: float


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A parsed question.

    Attributes:
        words: lexical similarity of each unit, 1 for the best.
        meaning: cosine similarity of each unit, 0 for the average and below.
        terms: the stems of the question.
        present: which stem occurs in which unit [stems, units].
        counts: weight of each stem.
        other: weight of each stem that is not part of a name.
        finder: finds the stems in texts.
        named: the names in the question.
        partly: how much each unit is about what the question may name.
        given: positions of the names in the question.
        by_meaning: whether units are compared by vectors.
        clauses: which stems each clause of the question has [clauses, stems].
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
        """How much each unit is about any name of the question."""
        return best_of([name.home for name in self.named], len(self.words))

    @property
    def mention(self) -> Scores:
        """The share of the question's names that each unit mentions."""
        total = sum(name.weight for name in self.named) or 1.0
        share = np.zeros(len(self.words))
        for name in self.named:
            share += name.mention * (name.weight / total)
        return share


def read_question(
    links: EntityLinks,
    terms: Terms,
    likeness: Likeness,
    graph: NameGraph,
    reaching: NameReach,
    parts: Sequence[Set[str]],
) -> ParsedQuestion:
    """Parse a question.

    Args:
        links: its linked names.
        terms: its stems.
        likeness: of each unit to it.
        graph: the names and units.
        reaching: which units a name leads to.
        parts: the stems of its clauses.
    """
    size, meaning = terms.size, likeness.meaning
    counts = terms.weights
    named = [link for link in links.found if link.named]
    name_words = {word for link in named for word in links.words.folded[link.start : link.end]}
    is_other = np.array(
        [not any(word.startswith(stem[:-1]) for word in name_words) for stem in terms.stems], dtype=bool
    )
    partly = np.zeros(size)
    for link in links.found:
        if not link.named:
            for unit, home in reaching.homes(link.place).items():
                partly[unit] = max(partly[unit], link.sure * home)
    return ParsedQuestion(
        words=np.zeros(size) if likeness.words is None else _scale_to_best(likeness.words),
        meaning=np.zeros(size) if meaning is None else _scale_to_best(np.clip(z_scores(meaning), 0, None)),
        terms=terms,
        present=terms.present(),
        counts=counts / max(float(counts.sum()), _TINY),
        other=counts * is_other / max(float((counts * is_other).sum()), _TINY),
        finder=TermFinder(terms.stems),
        named=(*_named_entities(named, graph, reaching, size), *_unlisted_names(links, reaching, size)),
        partly=partly,
        given=frozenset(link.place for link in named),
        by_meaning=meaning is not None,
        clauses=np.array([[stem in part for stem in terms.stems] for part in parts], dtype=np.bool_).reshape(
            len(parts), len(terms.stems)
        ),
    )


def best_of(scores: Sequence[Scores], size: int) -> Scores:
    """Return the highest score of each unit; zeros without scores."""
    highest = np.zeros(size)
    for values in scores:
        np.maximum(highest, values, out=highest)
    return highest


def _named_entities(
    links: Sequence[EntityLink], graph: NameGraph, reaching: NameReach, size: int
) -> list[NamedReach]:
    by_span: dict[tuple[int, int], list[EntityLink]] = {}
    for link in sorted(links, key=lambda link: (link.start, link.place)):
        by_span.setdefault((link.start, link.end), []).append(link)
    named = []
    for span in by_span.values():
        home, mention = np.zeros(size), np.zeros(size)
        for link in span:
            for unit, strength in reaching.homes(link.place).items():
                home[unit] = max(home[unit], link.sure * strength)
            units = graph.mentions.of(link.place)
            mention[units] = np.maximum(mention[units], link.sure)
        mention = np.maximum(mention, (home > 0).astype(np.float64))
        named.append(NamedReach(home, mention, max(link.weight for link in span)))
    return named


def _unlisted_names(links: EntityLinks, reaching: NameReach, size: int) -> list[NamedReach]:
    """Return reaches of capitalised runs that no name is spelled like but units are about."""
    named = []
    for start, end in _capital_runs(links.words):
        if any(link.start <= start and end <= link.end and link.how == "exact" for link in links.found):
            continue
        about = reaching.about(links.words.folded[start:end])
        if about:
            home = np.zeros(size)
            for unit, strength in about.items():
                home[unit] = _RUN * strength
            named.append(NamedReach(home, (home > 0).astype(np.float64), 1.0))
    return named


def _capital_runs(question: WordForms) -> list[tuple[int, int]]:
    """Return runs of at least two capitalised words; stop words may be in between."""
    runs, start, last = [], None, 0
    for position, word in enumerate(question.folded):
        if question.capital(position) and not (question.begins[position] and word in STOP_WORDS):
            start, last = (position if start is None else start), position
        elif start is not None and word not in STOP_WORDS:
            runs.append((start, last + 1))
            start = None
    if start is not None:
        runs.append((start, last + 1))
    return [(start, end) for start, end in runs if end - start > 1]


def _scale_to_best(scores: Scores) -> Scores:
    best = float(scores.max(initial=0.0))
    shares: Scores = scores / best if best > 0 else np.zeros_like(scores)
    return shares
