"""The graph of names and text units through which questions are followed, and PageRank over it.

Names lead to the units that mention them or are about them, and to related names; units lead to their names.
The walk begins at the names of a question and, with less weight, at similar units, so that it reaches units
without a word in common with the question (after HippoRAG, Gutiérrez et al. 2024).
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from graphrag_dagster.kernel.common.packed_arrays import NumbersByWord, Places, Texts, WeightedLists, Weights
from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.retrieval.lexical_index import WordRarity
from graphrag_dagster.kernel.retrieval.name_index import NameIndex, unqualified
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.text.english_words import SUBJECT_ELSEWHERE

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_READ = 200
_MOST_WORDS = 10
_MOST_OF_LAST = 100
_OTHERWISE, _LEAST_SHORT = 0.8, 3
# Ends the subject of a defining sentence; the full stop of an initial does not.
_END = re.compile(
    r"\b(?:is|was|are|were|refers|also known|also called|or|commonly|formerly|officially|born|has|have|had"
    r"|consists?|became|served|stars|starring)\b|[(\[,;:–—\n]|(?<=[a-z0-9)])\.(?:\s|$)"
)
_QUOTES = "\"“”‘’'` "
_ARTICLE = re.compile(r"^(?:The|A|An)\s+")
_CALLED = re.compile(
    r"\b(?:known as|called|née|born|pen name|stage name)\s+[\"“]?((?:[A-Z][\w'’.-]*\s?){1,4})"
)


def leading_words(text: str) -> tuple[str, ...]:
    """Return the subject of a text's first sentence and its other names there; empty if there is none.

    >>> leading_words('The "Blue Harbour" is a film.')
    ('Blue Harbour',)
    >>> leading_words("Ernest Shaw (born 1975), better known as DJ Clue, is a singer.")
    ('Ernest Shaw', 'DJ Clue')
    >>> leading_words("In the morning it was cold.")
    ()
    """
    beginning = text[:_READ].lstrip()
    end = _END.search(beginning)
    if end is None or end[0].startswith("."):
        return ()
    subject = _ARTICLE.sub("", beginning[: end.start()].strip(_QUOTES)).strip(_QUOTES)
    subject_words = subject.split()
    if not subject_words or len(subject_words) > _MOST_WORDS or subject_words[0].lower() in SUBJECT_ELSEWHERE:
        return ()
    capitals = sum(word[0].isupper() or not word[0].isalpha() for word in subject_words)
    if not (subject_words[0][0].isupper() or subject_words[0][0].isdigit()) or 3 * capitals < len(
        subject_words
    ):
        return ()
    called = (match[1].strip(". ") for match in _CALLED.finditer(beginning))
    return tuple(dict.fromkeys((subject, *(name for name in called if name))))


@dataclass(frozen=True, eq=False)
class LeadIndex:
    """Finds the texts about a name although they spell it with more words.

    Attributes:
        of_texts: the subjects of each text, one per line, as words joined by blanks.
        with_word: the texts that have a word in one of their subjects.
    """

    of_texts: Texts
    with_word: NumbersByWord

    @classmethod
    def of(cls, of_texts: Sequence[Sequence[str]]) -> "LeadIndex":
        """Build from subjects.

        Args:
            of_texts: the subjects of each text.
        """
        subjects = [
            [lead_words for lead in leads_of_text if (lead_words := words(lead))]
            for leads_of_text in of_texts
        ]
        with_word: dict[str, list[int]] = defaultdict(list)
        for position, lead_lists in enumerate(subjects):
            for word in dict.fromkeys(word for lead in lead_lists for word in lead):
                with_word[word].append(position)
        lines = Texts.of("\n".join(map(" ".join, lead_lists)) for lead_lists in subjects)
        return cls(lines, NumbersByWord.of(with_word))

    def about(self, name: Sequence[str]) -> dict[int, float]:
        """Return the texts with a subject that has the words of a name, and the share of the subject, 0–1.

        Other words may be in between. A longer form of a first name or another order counts less.
        """
        spelled = [word for word in name if len(word) > 1] or list(name)
        shares: dict[int, float] = {}
        for position in self._candidate_texts(spelled):
            subjects = (line.split(" ") for line in self.of_texts[position].split("\n"))
            best = max(_share_covered(spelled, lead) * min(1.0, len(name) / len(lead)) for lead in subjects)
            if best:
                shares[position] = best
        return shares

    def _candidate_texts(self, spelled: Sequence[str]) -> list[int]:
        if not spelled:
            return []
        rarest = min(map(self.with_word.of_word, spelled), key=len)
        of_last = self.with_word.of_word(spelled[-1])
        return sorted({*rarest, *(of_last if len(of_last) <= _MOST_OF_LAST else [])})


def _share_covered(name: Sequence[str], lead: Sequence[str]) -> float:
    remaining = iter(lead)
    if all(word in remaining for word in name):
        return 1.0
    if len(name) == 1:
        return 0.0
    if set(name) <= set(lead):
        return _OTHERWISE
    return _OTHERWISE * (name[-1] in lead and all(map(partial(_stands_for, lead), name[:-1])))


def _stands_for(lead: Sequence[str], word: str) -> bool:
    return any(
        lead_word == word or (len(word) >= _LEAST_SHORT and lead_word.startswith(word)) for lead_word in lead
    )


_LED = 0.8
#: A spelling shared by more entities is not used for any of them.
_FEW = 4


@dataclass(frozen=True, slots=True)
class NameGraph:
    """Names and text units by position.

    ``index`` has the titles of the entities, then subjects of documents and text units that are no entity;
    the frequency of a name is the number of units that mention it. ``home`` leads from a name to the units
    about it, ``mentions`` to those that mention it. ``within`` leads from a unit to its entities,
    ``subjects`` to the names it is about, ``related`` from an entity to its neighbours. ``rarity`` in [0, 1]
    is low for names in many units or made of common words. ``leads`` finds the units about a name that spell
    it with more words.
    """

    index: NameIndex
    rarity: Weights
    home: WeightedLists
    mentions: WeightedLists
    within: WeightedLists
    subjects: WeightedLists
    related: WeightedLists
    leads: LeadIndex

    @property
    def names(self) -> Sequence[str]:
        """The names."""
        return self.index.written


def name_graph(
    units: pl.DataFrame, entities: pl.DataFrame, relationships: pl.DataFrame, rarity: WordRarity
) -> NameGraph:
    """Build the graph of a corpus.

    Args:
        units: rows of ``corpus.text_chunks`` in order, with the ``title`` of each document, which may be
            blank.
        entities: rows of ``graph.entities`` in order.
        relationships: rows of ``graph.relationships``.
        rarity: rarity of words among the units.

    Returns:
        The graph, with names by position of the entity and units by position of the row. A unit is about the
        title of its document and the subject its text begins with. The strength is divided by the number of
        units of the document, since a long document covers more than its title.
    """
    titles, texts = units["title"].to_list(), units["text"].to_list()
    mentioned, mentioning_units = _mentions(entities, units["text_unit_id"])
    naming = _Naming(entities["title"].to_list(), entities["names"].to_list())
    about = list(map(_subject_words, texts, titles))
    shares = units.select(1 / pl.len().over("document_id")).to_series()
    for unit, (title, share) in enumerate(zip(titles, shares, strict=True)):
        naming.add(unqualified(title), unit, share)
        for lead in about[unit]:
            naming.add(lead, unit, _LED * share)
    home, names = naming.home(), naming.names
    frequency = np.maximum(np.bincount(mentioned, minlength=len(names)), 1)
    return NameGraph(
        index=NameIndex.of(names, frequency, naming.others),
        rarity=_rarity(names, frequency, len(texts), rarity),
        home=home,
        mentions=WeightedLists.of_pairs(
            len(names), mentioned, mentioning_units, np.ones(len(mentioning_units))
        ),
        within=WeightedLists.of_pairs(
            len(texts), mentioning_units, mentioned, np.ones(len(mentioning_units))
        ),
        subjects=WeightedLists.of_pairs(len(texts), home.values, home.owners, home.weights),
        related=_related_names(relationships, entities["entity_id"], len(names)),
        leads=LeadIndex.of(about),
    )


def _subject_words(text: str, title: str) -> tuple[str, ...]:
    """Return the subjects that a text begins with, with and without its title."""
    body = text.removeprefix(title).lstrip() if title else text
    return (
        leading_words(text)
        if body == text
        else tuple(dict.fromkeys((*leading_words(text), *leading_words(body))))
    )


class _Naming:
    """Names by their words, and the units about them; a new spelling becomes a new name."""

    def __init__(self, names: list[str], spellings: Sequence[Sequence[str]]) -> None:
        self.names = names
        self._by_words = {tuple(words(name)): position for position, name in reversed(list(enumerate(names)))}
        self.others = self._rare_spellings(spellings)
        self._by_words |= {
            spelled: positions[0] for spelled, positions in self.others.items() if len(positions) == 1
        }
        self._owners: list[int] = []
        self._homes: list[int] = []
        self._strengths: list[float] = []

    def _rare_spellings(self, spellings: Sequence[Sequence[str]]) -> dict[tuple[str, ...], list[int]]:
        """Return spellings that are no title and belong to few entities, with their positions."""
        positions_of: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for position, spelled in enumerate(spellings):
            for key in dict.fromkeys(tuple(words(spelling)) for spelling in spelled):
                if key and key not in self._by_words:
                    positions_of[key].append(position)
        return {key: positions for key, positions in positions_of.items() if len(positions) <= _FEW}

    def add(self, name: str, unit: int, strength: float) -> None:
        key = tuple(words(name))
        if not key:
            return
        if key not in self._by_words:
            self._by_words[key] = len(self.names)
            self.names.append(name)
        self._owners.append(self._by_words[key])
        self._homes.append(unit)
        self._strengths.append(strength)

    def home(self) -> WeightedLists:
        strengths = np.array(self._strengths, dtype=float)
        return WeightedLists.of_pairs(len(self.names), _ints(self._owners), _ints(self._homes), strengths)


def _ints(values: Sequence[int]) -> Places:
    return np.array(values, dtype=np.int64)


def _mentions(entities: pl.DataFrame, unit_ids: pl.Series) -> tuple[Places, Places]:
    mentions = entities.select(unit="text_unit_ids").with_row_index("entity").explode("unit").unique()
    pairs = mentions.join(_places(unit_ids, "unit"), on="unit").sort("entity", "place")
    return _column(pairs, "entity"), _column(pairs, "place")


def _places(ids: pl.Series, name: str) -> pl.DataFrame:
    return pl.DataFrame({name: ids}).with_row_index("place")


def _column(frame: pl.DataFrame, name: str) -> Places:
    return frame[name].cast(pl.Int64).to_numpy()


def _rarity(names: Sequence[str], frequency: Places, units: int, rarity: WordRarity) -> Weights:
    spelled = np.array([min(1.0, fsum(map(rarity.of, words(name)))) for name in names], dtype=float)
    spread: Weights = np.log((units + 1) / (np.minimum(frequency, units) + 1)) / np.log(max(units, 1) + 1)
    return spelled * spread


def _related_names(relationships: pl.DataFrame, entity_ids: pl.Series, count: int) -> WeightedLists:
    pairs = relationships.select("source_id", "target_id", "weight")
    for end in ("source", "target"):
        pairs = pairs.join(_places(entity_ids, f"{end}_id"), on=f"{end}_id").rename({"place": end})
    first, second = _column(pairs, "source"), _column(pairs, "target")
    weights = pairs["weight"].cast(pl.Float64).to_numpy()
    return WeightedLists.of_pairs(
        count,
        np.concatenate((first, second)),
        np.concatenate((second, first)),
        np.concatenate((weights, weights)),
    )


_TOLERANCE, _MOST_STEPS = 1e-8, 200


@dataclass(frozen=True, slots=True)
class Spreading:
    """Parameters of the walk.

    Attributes:
        damping: probability of continuing instead of restarting.
        units: share of the restart at units similar to the question; the rest is at its names.
        home: weight of the edge between a name and a unit about it; a mention has weight 1.
        related: weight of the edge between two related names.
        sharpness: exponent of a unit's similarity, which emphasises the most similar ones.
    """

    damping: float = 0.8
    units: float = 0.3
    home: float = 3.0
    related: float = 0.1
    sharpness: float = 2.0


class PassageRank:
    """Ranks units and names by a random walk with restart from a question's names and similar units.

    Args:
        graph: names and units.
        spreading: parameters of the walk; default: the tuned ones.
    """

    def __init__(self, graph: NameGraph, spreading: Spreading | None = None) -> None:
        spreading = spreading or Spreading()
        self._spreading = spreading
        self._names = len(graph.names)
        self._steps = _transposed_steps(graph, spreading)
        self._stuck = np.asarray(self._steps.sum(axis=0)).ravel() == 0

    def scores(self, names: Scores, likeness: Scores) -> tuple[Scores, Scores]:
        """Return the probability of every unit and every name.

        Args:
            names: restart weight of each name; all zero if the question names nothing.
            likeness: of each unit to the question; only values above the average count.
        """
        reset = self._restart(names, likeness)
        if not reset.any():
            return np.zeros(len(likeness)), np.zeros(self._names)
        damping, probability = self._spreading.damping, reset
        for _ in range(_MOST_STEPS):
            stuck_mass = float(probability[self._stuck].sum())
            after = (1 - damping) * reset + damping * (self._steps @ probability + stuck_mass * reset)
            change = float(np.abs(after - probability).sum())
            probability = after
            if change <= _TOLERANCE:
                break
        return probability[self._names :], probability[: self._names]

    def _restart(self, names: Scores, likeness: Scores) -> Scores:
        above = np.clip(likeness - likeness.mean(), 0, None) if len(likeness) else likeness
        best = float(above.max(initial=0.0))
        units = (above / best) ** self._spreading.sharpness if best > 0 else above
        parts = []
        for weights, share in ((names, 1 - self._spreading.units), (units, self._spreading.units)):
            whole = float(weights.sum())
            parts.append(share * weights / whole if whole > 0 else np.zeros(len(weights)))
        whole = float(sum(part.sum() for part in parts))
        joined: Scores = np.concatenate(parts)
        return joined / whole if whole > 0 else joined


def _transposed_steps(graph: NameGraph, spreading: Spreading) -> "csr_array":
    """Return the transition matrix, transposed."""
    from scipy.sparse import coo_array

    names = len(graph.names)
    size = names + len(graph.within.starts) - 1
    home, mentions, related = graph.home, graph.mentions, graph.related
    tails = np.concatenate([home.owners, mentions.owners])
    heads = np.concatenate([home.values, mentions.values]) + names
    weights = np.concatenate([home.weights * spreading.home, mentions.weights])
    edges = coo_array(
        (
            np.concatenate([weights, weights, np.full(len(related.values), spreading.related)]),
            (
                np.concatenate([tails, heads, related.owners]),
                np.concatenate([heads, tails, related.values]),
            ),
        ),
        shape=(size, size),
    ).tocsr()
    totals = np.asarray(edges.sum(axis=1)).ravel()
    edges.data /= np.repeat(totals, np.diff(edges.indptr))
    return edges.T.tocsr()
