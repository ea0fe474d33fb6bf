"""Where a name leads: the units that are about it, and those in which it stands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from graphrag_dagster.core.search.retrieval.lists import Places, Weights
from graphrag_dagster.core.search.retrieval.names import NameGraph
from graphrag_dagster.core.search.retrieval.words import words

_LED, _ONE_WORD, _SUBJECT = 0.8, 0.5, 0.3
_MOST_UNITS = 40
_BEFORE_SUBJECT = re.compile(r"(?:^|[.!?][\"”’)]?\s+|\n)[\"“‘']?(?:The |An? )?$")
_BEFORE = 8
# At about 1 kB each, at most 2.
_KEPT = 20_000


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


class Reaching:
    """Says where names lead, and keeps it of as many as were asked for last.

    Args:
        graph: the names.
        texts: the units' texts.
    """

    def __init__(self, graph: NameGraph, texts: Sequence[str] | pl.Series) -> None:
        self._graph = graph
        self._texts = texts
        self._known = lru_cache(_KEPT)(self._reach)

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
