"""Personalised PageRank over names and text units: where a question spreads to from what it names.

Names lead to the units in which they stand or that are about them, to names that they have a relationship
with, and units lead to their names. It begins at the names of a question and, with less weight, at the units
that are like it, and so reaches units that share no word with it (after HippoRAG, Gutiérrez et al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from graphrag_dagster.kernel.common.stable_scores import Scores
    from graphrag_dagster.kernel.retrieval.multihop.names import NameGraph

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
        reset = self._beginning(names, likeness)
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

    def _beginning(self, names: Scores, likeness: Scores) -> Scores:
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


def _transposed_steps(graph: NameGraph, spreading: Spreading) -> csr_array:
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
