"""The graph that a question is followed through: names, units they stand in, units they are at home in."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from graphrag_dagster.core.search.kept import Writable, mapped_arrays, write_arrays, write_parts
from graphrag_dagster.core.search.retrieval.leads import LeadIndex, leads
from graphrag_dagster.core.search.retrieval.lists import Places, WeightedLists, Weights
from graphrag_dagster.core.search.retrieval.name_index import NameIndex
from graphrag_dagster.core.search.retrieval.rarity import WordRarity
from graphrag_dagster.core.search.retrieval.spellings import unqualified
from graphrag_dagster.core.search.retrieval.words import words

_LISTS = ("home", "mentions", "within", "subjects", "related")
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

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        parts: dict[str, Writable] = {name: getattr(self, name) for name in _LISTS}
        write_parts(folder, {**parts, "index": self.index, "leads": self.leads})
        write_arrays(folder, {"rarity": self.rarity})

    @classmethod
    def opened(cls, folder: Path) -> "NameGraph":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        lists: dict[str, Any] = {name: WeightedLists.opened(folder / name) for name in _LISTS}
        index, leads = NameIndex.opened(folder / "index"), LeadIndex.opened(folder / "leads")
        return cls(index=index, leads=leads, **lists, **mapped_arrays(folder, ("rarity",)))


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
