"""Following a question through the graph: from what it names to the units that answer it, in hops."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.search.retrieval.linking import Link, NameLinker
from graphrag_dagster.core.search.retrieval.lists import Places
from graphrag_dagster.core.search.retrieval.names import NameGraph
from graphrag_dagster.core.search.retrieval.ranking import first_places
from graphrag_dagster.core.search.retrieval.words import words

_NEGLIGIBLE = 0.01


@dataclass(frozen=True, slots=True)
class Spreading:
    """How far and how strongly a question spreads.

    Args:
        text: weight of a unit's own likeness to the question, beside 1 for being the home of a linked name.
        hops: strength of each hop.
        frontier: how many of the best units are followed in each hop.
        sharpness: power by which a unit's standing beside the best one counts for what it leads to.
        likeness: how much more a unit gains that is itself like the question.
        relationship: how much more a name passes on that has a relationship with the subject of the unit
            or with a linked name.
    """

    text: float = 0.5
    hops: tuple[float, ...] = (0.7, 0.4)
    frontier: int = 20
    sharpness: float = 2.0
    likeness: float = 2.0
    relationship: float = 1.0


class Spreader:
    """Spreads questions over one graph.

    A two-hop question names one thing and asks about another that is only named where the first is described:
    linked name → its home → the names that stand there → their homes. Each unit gains what the best path to
    it is worth, so that a long unit or a frequent name does not win by the number of its paths.

    Args:
        graph: names and units.
        texts: the units' texts.
        linker: finds the graph's names in texts; what it finds in a unit adds to the unit's entities.
        spreading: the strengths.
    """

    def __init__(
        self, graph: NameGraph, texts: Sequence[str], linker: NameLinker, spreading: Spreading | None = None
    ) -> None:
        self._graph = graph
        self._texts = texts
        self._linker = linker
        self._how = spreading or Spreading()
        self._within: dict[int, Places] = {}

    def spread(
        self, links: Sequence[Link], likeness: Scores, likeness_elsewhere: Scores
    ) -> tuple[Scores, Scores]:
        """Return a score ≥ 0 for each unit and one for each name.

        Args:
            links: the names that the question means.
            likeness: likeness of each unit to the question, in [0, 1].
            likeness_elsewhere: the same for units reached in a hop, which need not be like the names that the
                question gives.
        """
        graph, how = self._graph, self._how
        names = np.zeros(len(graph.names))
        units = np.zeros(len(likeness))
        if links:
            places = np.array([link.place for link in links])
            weights = np.array([link.weight for link in links])
            which, reached, strengths = graph.reach.of_all(places)
            np.maximum.at(units, reached, weights[which] * strengths)
            names[places] = weights
        units += how.text * likeness
        given = np.array([link.place for link in links if link.named], dtype=np.int64)
        for strength in how.hops:
            unit_gain, name_gain = self._hop(units, strength, given, 1 + how.likeness * likeness_elsewhere)
            units = units + unit_gain
            # What the question itself names stays before what that is related to.
            names = np.maximum(names, name_gain / (1 + how.relationship))
        return units, names

    def _hop(self, units: Scores, strength: float, given: Places, factors: Scores) -> tuple[Scores, Scores]:
        gain, name_gain = np.zeros_like(units), np.zeros(len(self._graph.names))
        frontier = first_places(units, self._how.frontier)
        best = units[frontier[0]] if len(frontier) else 0.0
        for unit in frontier.tolist():
            share = strength * (units[unit] / best) ** self._how.sharpness if best > 0 else 0.0
            if share < _NEGLIGIBLE:
                break
            names, weights = self._leads(unit, given, share)
            np.maximum.at(name_gain, names, weights)
            which, reached, strengths = self._graph.reach.of_all(names)
            worth = weights[which] * strengths * factors[reached]
            worth[reached == unit] = 0
            np.maximum.at(gain, reached, worth)
        return gain, name_gain

    def _leads(self, unit: int, given: Places, share: float) -> tuple[Places, Scores]:
        graph = self._graph
        names = np.setdiff1d(self._names_within(unit), given)
        anchors = np.union1d(graph.subjects.of(unit), given)
        _, near, _ = graph.related.of_all(anchors)
        boost = 1 + self._how.relationship * np.isin(names, near)
        weights = share * graph.rarity[names] * boost
        kept = weights >= _NEGLIGIBLE
        return names[kept], weights[kept]

    def _names_within(self, unit: int) -> Places:
        if unit not in self._within:
            found = [
                place
                for mention in self._linker.mentions(words(self._texts[unit]))
                for place in mention.places
            ]
            self._within[unit] = np.union1d(self._graph.within.of(unit), np.array(found, dtype=np.int64))
        return self._within[unit]
