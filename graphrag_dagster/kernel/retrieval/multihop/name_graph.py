"""The graph of names and text units that a question is followed through, and PageRank over it.

Names lead to the units in which they stand or that are about them, to names that they have a relationship
with, and units lead to their names. It begins at the names of a question and, with less weight, at the units
that are like it, and so reaches units that share no word with it (after HippoRAG, Gutiérrez et al. 2024).
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
# What ends the subject of a sentence that says what something is; the full stop of an initial does not.
_END = re.compile(
    r"\b(?:is|was|are|were|refers|also known|also called|or|commonly|formerly|officially|born|has|have|had"
    r"|consists?|became|served|stars|starring)\b|[(\[,;:–—\n]|(?<=[a-z0-9)])\.(?:\s|$)"
)
_QUOTES = "\"“”‘’'` "
_ARTICLE = re.compile(r"^(?:The|A|An)\s+")
_CALLED = re.compile(
    r"\b(?:known as|called|née|born|pen name|stage name)\s+[\"“]?((?:[A-Z][\w'’.-]*\s?){1,4})"
)


def leads(text: str) -> tuple[str, ...]:
    """Return what the first sentence of a text is about, and what it says that is also called; maybe nothing.

    >>> leads('The "Blue Harbour" is a film.')
    ('Blue Harbour',)
    >>> leads("Ernest Shaw (born 1975), better known as DJ Clue, is a singer.")
    ('Ernest Shaw', 'DJ Clue')
    >>> leads("In the morning it was cold.")
    ()
    """
    begin = text[:_READ].lstrip()
    end = _END.search(begin)
    if end is None or end[0].startswith("."):
        return ()
    subject = _ARTICLE.sub("", begin[: end.start()].strip(_QUOTES)).strip(_QUOTES)
    written = subject.split()
    if not written or len(written) > _MOST_WORDS or written[0].lower() in SUBJECT_ELSEWHERE:
        return ()
    capitals = sum(word[0].isupper() or not word[0].isalpha() for word in written)
    if not (written[0][0].isupper() or written[0][0].isdigit()) or 3 * capitals < len(written):
        return ()
    called = (found[1].strip(". ") for found in _CALLED.finditer(begin))
    return tuple(dict.fromkeys((subject, *(name for name in called if name))))


@dataclass(frozen=True, eq=False)
class LeadIndex:
    """Finds the texts that are about a name although they spell it with more words.

    Attributes:
        of_texts: what each text is about: the words of a lead with blanks between, a line each.
        with_word: the texts of whose leads one has a word.
    """

    of_texts: Texts
    with_word: NumbersByWord

    @classmethod
    def of(cls, of_texts: Sequence[Sequence[str]]) -> "LeadIndex":
        """Return what finds texts.

        Args:
            of_texts: what each text is about.
        """
        told = [[found for lead in one if (found := words(lead))] for one in of_texts]
        with_word: dict[str, list[int]] = defaultdict(list)
        for place, split in enumerate(told):
            for word in dict.fromkeys(word for lead in split for word in lead):
                with_word[word].append(place)
        lines = Texts.of("\n".join(map(" ".join, split)) for split in told)
        return cls(lines, NumbersByWord.of(with_word))

    def about(self, name: Sequence[str]) -> dict[int, float]:
        """Return the texts whose lead has the words of a name, and how much of it they are, 0–1.

        Words may stand between; a longer form of a first name, and another order, count less.
        """
        spelled = [word for word in name if len(word) > 1] or list(name)
        found: dict[int, float] = {}
        for place in self._likely(spelled):
            told = (line.split(" ") for line in self.of_texts[place].split("\n"))
            best = max(_covered(spelled, lead) * min(1.0, len(name) / len(lead)) for lead in told)
            if best:
                found[place] = best
        return found

    def _likely(self, spelled: Sequence[str]) -> list[int]:
        if not spelled:
            return []
        rarest = min(map(self.with_word.of_word, spelled), key=len)
        of_last = self.with_word.of_word(spelled[-1])
        return sorted({*rarest, *(of_last if len(of_last) <= _MOST_OF_LAST else [])})


def _covered(name: Sequence[str], lead: Sequence[str]) -> float:
    remaining = iter(lead)
    if all(word in remaining for word in name):
        return 1.0
    if len(name) == 1:
        return 0.0
    if set(name) <= set(lead):
        return _OTHERWISE
    return _OTHERWISE * (name[-1] in lead and all(map(partial(_stands_for, lead), name[:-1])))


def _stands_for(lead: Sequence[str], word: str) -> bool:
    return any(one == word or (len(word) >= _LEAST_SHORT and one.startswith(word)) for one in lead)


_LED = 0.8
#: A name that more entities have means none of them before the others.
_FEW = 4


@dataclass(frozen=True, slots=True)
class NameGraph:
    """Names and text units by place.

    ``index`` holds the entities' titles, then what documents and text units are about that no entity is
    called; the frequency of each is the number of units in which it was found. ``home`` leads from a name to
    the units that are about it, ``mentions`` to those in which it was found. ``within`` leads from a unit to
    the entities found in it, ``subjects`` to the names at home there, ``related`` from an entity to those it
    has a relationship with. ``rarity`` in [0, 1] is low for names in many units or of common words. ``leads``
    finds the units that are about a name which they spell with more words.
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
        units: rows of ``corpus.text_chunks`` in their order, with the ``title`` of the document of each,
            blank for none.
        entities: rows of ``graph.entities`` in their order.
        relationships: rows of ``graph.relationships``.
        rarity: how rare words are among the units.

    Returns:
        names by the place of the entity, units by the place of the row. A name is at home in a unit whose
        document's title it is, or whose text begins with it as its subject; in each of n units of a document
        1/n as much, since a long document speaks of more than its title says.
    """
    titles, texts = units["title"].to_list(), units["text"].to_list()
    found, where = _mentions(entities, units["text_unit_id"])
    naming = _Naming(entities["title"].to_list(), entities["names"].to_list())
    about = list(map(_about, texts, titles))
    shares = units.select(1 / pl.len().over("document_id")).to_series()
    for unit, (title, share) in enumerate(zip(titles, shares, strict=True)):
        naming.add(unqualified(title), unit, share)
        for lead in about[unit]:
            naming.add(lead, unit, _LED * share)
    home, names = naming.home(), naming.names
    frequency = np.maximum(np.bincount(found, minlength=len(names)), 1)
    return NameGraph(
        index=NameIndex.of(names, frequency, naming.others),
        rarity=_rarity(names, frequency, len(texts), rarity),
        home=home,
        mentions=WeightedLists.of_pairs(len(names), found, where, np.ones(len(where))),
        within=WeightedLists.of_pairs(len(texts), where, found, np.ones(len(where))),
        subjects=WeightedLists.of_pairs(len(texts), home.values, home.owners, home.weights),
        related=_related(relationships, entities["entity_id"], len(names)),
        leads=LeadIndex.of(about),
    )


def _about(text: str, title: str) -> tuple[str, ...]:
    """What a text begins to speak of, below its title where it has that too."""
    body = text.removeprefix(title).lstrip() if title else text
    return leads(text) if body == text else tuple(dict.fromkeys((*leads(text), *leads(body))))


class _Naming:
    """Names by their words, and where they are at home; a spelling that is new is a new name."""

    def __init__(self, names: list[str], spellings: Sequence[Sequence[str]]) -> None:
        self.names = names
        self._by_words = {tuple(words(name)): place for place, name in reversed(list(enumerate(names)))}
        self.others = self._few_called(spellings)
        self._by_words |= {spelled: places[0] for spelled, places in self.others.items() if len(places) == 1}
        self._owners: list[int] = []
        self._homes: list[int] = []
        self._strengths: list[float] = []

    def _few_called(self, spellings: Sequence[Sequence[str]]) -> dict[tuple[str, ...], list[int]]:
        """Return spellings that are no title, and of few entities, with the places of these."""
        called: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, spelled in enumerate(spellings):
            for key in dict.fromkeys(tuple(words(one)) for one in spelled):
                if key and key not in self._by_words:
                    called[key].append(place)
        return {key: places for key, places in called.items() if len(places) <= _FEW}

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
    found = entities.select(unit="text_unit_ids").with_row_index("entity").explode("unit").unique()
    pairs = found.join(_places(unit_ids, "unit"), on="unit").sort("entity", "place")
    return _column(pairs, "entity"), _column(pairs, "place")


def _places(ids: pl.Series, name: str) -> pl.DataFrame:
    return pl.DataFrame({name: ids}).with_row_index("place")


def _column(frame: pl.DataFrame, name: str) -> Places:
    return frame[name].cast(pl.Int64).to_numpy()


def _rarity(names: Sequence[str], frequency: Places, units: int, rarity: WordRarity) -> Weights:
    spelled = np.array([min(1.0, fsum(map(rarity.of, words(name)))) for name in names], dtype=float)
    spread: Weights = np.log((units + 1) / (np.minimum(frequency, units) + 1)) / np.log(max(units, 1) + 1)
    return spelled * spread


def _related(relationships: pl.DataFrame, entity_ids: pl.Series, count: int) -> WeightedLists:
    pairs = relationships.select("source_id", "target_id", "weight")
    for end in ("source", "target"):
        pairs = pairs.join(_places(entity_ids, f"{end}_id"), on=f"{end}_id").rename({"place": end})
    one, other = _column(pairs, "source"), _column(pairs, "target")
    weights = pairs["weight"].cast(pl.Float64).to_numpy()
    return WeightedLists.of_pairs(
        count, np.concatenate((one, other)), np.concatenate((other, one)), np.concatenate((weights, weights))
    )


_TOLERANCE, _MOST_STEPS = 1e-8, 200


@dataclass(frozen=True, slots=True)
class Spreading:
    """How a question spreads.

    Attributes:
        damping: probability of going on, rather than back to where it began.
        units: share of the beginning that is at units like the question; the rest is at its names.
        home: weight of the way between a name and a unit about it; that to a unit where it stands is 1.
        related: weight of the way between two names with a relationship.
        sharpness: power of a unit's likeness before the first, by which the like ones stand out.
    """

    damping: float = 0.8
    units: float = 0.3
    home: float = 3.0
    related: float = 0.1
    sharpness: float = 2.0


class PassageRank:
    """Ranks units and names by where a walk from a question's names and likest units is found.

    Args:
        graph: names and units.
        spreading: how a question spreads; default: as it was tuned.
    """

    def __init__(self, graph: NameGraph, spreading: Spreading | None = None) -> None:
        spreading = spreading or Spreading()
        self._spreading = spreading
        self._names = len(graph.names)
        self._steps = _transposed_steps(graph, spreading)
        self._stuck = np.asarray(self._steps.sum(axis=0)).ravel() == 0

    def scores(self, names: Scores, likeness: Scores) -> tuple[Scores, Scores]:
        """Return the probability of every unit and of every name.

        Args:
            names: weight of each name as a beginning; all zero where the question names nothing.
            likeness: of each unit to the question; what is not above the average begins nothing.
        """
        reset = self._restart(names, likeness)
        if not reset.any():
            return np.zeros(len(likeness)), np.zeros(self._names)
        damping, found = self._spreading.damping, reset
        for _ in range(_MOST_STEPS):
            lost = float(found[self._stuck].sum())
            after = (1 - damping) * reset + damping * (self._steps @ found + lost * reset)
            change = float(np.abs(after - found).sum())
            found = after
            if change <= _TOLERANCE:
                break
        return found[self._names :], found[: self._names]

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
    """The probability of each step, by where it leads."""
    from scipy.sparse import coo_array

    names = len(graph.names)
    size = names + len(graph.within.starts) - 1
    home, mentions, related = graph.home, graph.mentions, graph.related
    begins = np.concatenate([home.owners, mentions.owners])
    ends = np.concatenate([home.values, mentions.values]) + names
    weights = np.concatenate([home.weights * spreading.home, mentions.weights])
    ways = coo_array(
        (
            np.concatenate([weights, weights, np.full(len(related.values), spreading.related)]),
            (
                np.concatenate([begins, ends, related.owners]),
                np.concatenate([ends, begins, related.values]),
            ),
        ),
        shape=(size, size),
    ).tocsr()
    whole = np.asarray(ways.sum(axis=1)).ravel()
    ways.data /= np.repeat(whole, np.diff(ways.indptr))
    return ways.T.tocsr()
