"""The graph that a question is followed through: names, units they stand in, units they are at home in."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
import polars as pl

from graphrag_dagster.core.search.retrieval.leads import LeadIndex, leads
from graphrag_dagster.core.search.retrieval.lists import Places, WeightedLists, Weights
from graphrag_dagster.core.search.retrieval.rarity import WordRarity
from graphrag_dagster.core.search.retrieval.spellings import unqualified
from graphrag_dagster.core.search.retrieval.words import words

_LED = 0.8
#: A name that more entities have means none of them before the others.
_FEW = 4


@dataclass(frozen=True, slots=True)
class NameGraph:
    """Names and text units by place.

    ``names`` holds the entities' titles, then what documents and text units are about that no entity is
    called. ``home`` leads from a name to the units that are about it, ``mentions`` to those in which it was
    found. ``within`` leads from a unit to the entities found in it, ``subjects`` to the names at home there,
    ``related`` from an entity to those it has a relationship with. ``others`` holds what few entities are
    called beside their titles, as words, with their places. ``frequency`` is the number of units in
    which a name was found, at least 1; ``rarity`` in [0, 1] is low for names in many units or of common
    words. ``leads`` finds the units that are about a name which they spell with more words.
    """

    names: tuple[str, ...]
    others: Mapping[tuple[str, ...], Sequence[int]]
    frequency: Places
    rarity: Weights
    home: WeightedLists
    mentions: WeightedLists
    within: WeightedLists
    subjects: WeightedLists
    related: WeightedLists
    leads: LeadIndex


def name_graph(
    units: pl.DataFrame,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    titles: Mapping[str, str],
    rarity: WordRarity,
) -> NameGraph:
    """Build the graph of a corpus.

    Args:
        units: rows of ``corpus.text_chunks`` in their order.
        entities: rows of ``graph.entities`` in their order.
        relationships: rows of ``graph.relationships``.
        titles: title of the document by unit id; units may be missing.
        rarity: how rare words are among the units.

    Returns:
        names by the place of the entity, units by the place of the row. A name is at home in a unit whose
        document's title it is, or whose text begins with it as its subject; in each of n units of a document
        1/n as much, since a long document speaks of more than its title says.
    """
    unit_ids, texts = units["text_unit_id"].to_list(), units["text"].to_list()
    found, where = _mentions(entities, unit_ids)
    naming = _Naming(entities["title"].to_list(), entities["names"].to_list())
    about = [_about(text, titles.get(unit_id, "")) for unit_id, text in zip(unit_ids, texts, strict=True)]
    shares = units.select(1 / pl.len().over("document_id")).to_series()
    for unit, (unit_id, share) in enumerate(zip(unit_ids, shares, strict=True)):
        naming.add(unqualified(titles.get(unit_id, "")), unit, share)
        for lead in about[unit]:
            naming.add(lead, unit, _LED * share)
    home, names = naming.home(), naming.names
    frequency = np.maximum(np.bincount(found, minlength=len(names)), 1)
    return NameGraph(
        names=tuple(names),
        others=naming.others,
        frequency=frequency,
        rarity=_rarity(names, frequency, len(texts), rarity),
        home=home,
        mentions=WeightedLists.of_pairs(len(names), found, where, np.ones(len(where))),
        within=WeightedLists.of_pairs(len(texts), where, found, np.ones(len(where))),
        subjects=WeightedLists.of_pairs(len(texts), home.values, home.owners, home.weights),
        related=_related(relationships, entities["entity_id"].to_list(), len(names)),
        leads=LeadIndex(about),
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


def _mentions(entities: pl.DataFrame, unit_ids: Sequence[str]) -> tuple[Places, Places]:
    places = {unit_id: place for place, unit_id in enumerate(unit_ids)}
    pairs = [
        (entity, places[unit_id])
        for entity, ids in enumerate(entities["text_unit_ids"])
        for unit_id in dict.fromkeys(ids)
        if unit_id in places
    ]
    return _ints([entity for entity, _ in pairs]), _ints([unit for _, unit in pairs])


def _rarity(names: Sequence[str], frequency: Places, units: int, rarity: WordRarity) -> Weights:
    spelled = np.array([min(1.0, fsum(map(rarity.of, words(name)))) for name in names], dtype=float)
    spread: Weights = np.log((units + 1) / (np.minimum(frequency, units) + 1)) / np.log(max(units, 1) + 1)
    return spelled * spread


def _related(relationships: pl.DataFrame, entity_ids: Sequence[str], count: int) -> WeightedLists:
    places = {entity_id: place for place, entity_id in enumerate(entity_ids)}
    kept = [
        (places[source], places[target], weight)
        for source, target, weight in relationships.select("source_id", "target_id", "weight").iter_rows()
        if source in places and target in places
    ]
    one, other = _ints([pair[0] for pair in kept]), _ints([pair[1] for pair in kept])
    weights = np.array([pair[2] for pair in kept], dtype=float)
    return WeightedLists.of_pairs(
        count, np.concatenate((one, other)), np.concatenate((other, one)), np.concatenate((weights, weights))
    )
