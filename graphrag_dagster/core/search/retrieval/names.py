"""The graph that a question is followed through: names, units they stand in, units they are at home in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
import polars as pl

from graphrag_dagster.core.search.retrieval.lists import Places, WeightedLists, Weights
from graphrag_dagster.core.search.retrieval.spellings import unqualified
from graphrag_dagster.core.search.retrieval.words import WordRarity, words

_BEGINNING_CHARACTERS = 300
_ARTICLES_BEFORE = 3
_AT_THE_BEGINNING = 0.3
_ELSEWHERE = 0.5
_MOST_UNITS = 50


@dataclass(frozen=True, slots=True)
class NameGraph:
    """Names and text units by place.

    ``names`` holds the entities' titles, then the titles of documents that no entity is called.
    ``reach`` leads from a name to units: strongly where it is at home, else weakly. ``within`` leads from a
    unit to the entities found in it, ``subjects`` to the names at home there, ``related`` from an entity to
    those it has a relationship with. ``frequency`` is the number of units in which a name was found, at least
    1; ``rarity`` in [0, 1] is low for names in many units or of common words.
    """

    names: tuple[str, ...]
    frequency: Places
    rarity: Weights
    reach: WeightedLists
    within: WeightedLists
    subjects: WeightedLists
    related: WeightedLists


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
        document's title it is (in the k-th unit of the document 1/k as much), or with whose text it begins.
    """
    unit_ids, texts = units["text_unit_id"].to_list(), units["text"].to_list()
    names: list[str] = entities["title"].to_list()
    found, where = _mentions(entities, unit_ids)
    folded = [words(name) for name in names]
    owners, homes, strengths = _beginnings(found, where, folded, texts)
    by_words = {tuple(name): place for place, name in reversed(list(enumerate(folded)))}
    for unit, (unit_id, position) in enumerate(zip(unit_ids, units["position"], strict=True)):
        title = unqualified(titles.get(unit_id, ""))
        key = tuple(words(title))
        if not key:
            continue
        if key not in by_words:
            by_words[key] = len(names)
            names.append(title)
        owners.append(by_words[key])
        homes.append(unit)
        strengths.append(1 / (1 + position))
    home = WeightedLists.of_pairs(len(names), _ints(owners), _ints(homes), np.array(strengths, dtype=float))
    frequency = np.maximum(np.bincount(found, minlength=len(names)), 1)
    return NameGraph(
        names=tuple(names),
        frequency=frequency,
        rarity=_rarity(names, frequency, len(texts), rarity),
        reach=_reach(home, found, where, frequency),
        within=WeightedLists.of_pairs(len(texts), where, found, np.ones(len(where))),
        subjects=WeightedLists.of_pairs(len(texts), home.values, _owners(home), home.weights),
        related=_related(relationships, entities["entity_id"].to_list(), len(names)),
    )


def _ints(values: Sequence[int]) -> Places:
    return np.array(values, dtype=np.int64)


def _owners(lists: WeightedLists) -> Places:
    return np.repeat(np.arange(len(lists.starts) - 1), np.diff(lists.starts))


def _mentions(entities: pl.DataFrame, unit_ids: Sequence[str]) -> tuple[Places, Places]:
    places = {unit_id: place for place, unit_id in enumerate(unit_ids)}
    pairs = [
        (entity, places[unit_id])
        for entity, ids in enumerate(entities["text_unit_ids"])
        for unit_id in dict.fromkeys(ids)
        if unit_id in places
    ]
    return _ints([entity for entity, _ in pairs]), _ints([unit for _, unit in pairs])


def _beginnings(
    found: Places, where: Places, folded: Sequence[Sequence[str]], texts: Sequence[str]
) -> tuple[list[int], list[int], list[float]]:
    owners, homes = [], []
    begins = [words(text[:_BEGINNING_CHARACTERS]) for text in texts]
    for entity, unit in zip(found.tolist(), where.tolist(), strict=True):
        name, begin = folded[entity], begins[unit]
        if name and any(begin[at : at + len(name)] == name for at in range(_ARTICLES_BEFORE + 1)):
            owners.append(entity)
            homes.append(unit)
    return owners, homes, [_AT_THE_BEGINNING] * len(owners)


def _rarity(names: Sequence[str], frequency: Places, units: int, rarity: WordRarity) -> Weights:
    spelled = np.array([min(1.0, fsum(map(rarity.of, words(name)))) for name in names], dtype=float)
    spread: Weights = np.log((units + 1) / (np.minimum(frequency, units) + 1)) / np.log(max(units, 1) + 1)
    return spelled * spread


def _reach(home: WeightedLists, found: Places, where: Places, frequency: Places) -> WeightedLists:
    owners = _owners(home)
    shared = np.sqrt(np.maximum(np.bincount(owners, home.weights, len(frequency)), 1))
    # A name that stands everywhere leads nowhere; its first units keep a question about it answerable.
    order = np.lexsort((where, found))
    found, where = found[order], where[order]
    nth = np.arange(len(found)) - np.searchsorted(found, found)
    found, where = found[nth < _MOST_UNITS], where[nth < _MOST_UNITS]
    return WeightedLists.of_pairs(
        len(frequency),
        np.concatenate((owners, found)),
        np.concatenate((home.values, where)),
        np.concatenate((home.weights / shared[owners], _ELSEWHERE / np.sqrt(frequency[found]))),
    )


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
