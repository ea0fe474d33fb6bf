"""Context nodes of one partition (spec_context_leiden §1).

The score of candidates, the budget of communities and who is taken (spec_context_leiden §4, §5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graphrag_dagster.kernel.tables.context import OUTCOMES
from graphrag_dagster.systems.context_leiden.index.distances import UNREACHABLE, distances
from graphrag_dagster.systems.context_leiden.index.similarity import alignment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphrag_dagster.systems.context_leiden.index.adjacency import Adjacency, Places
    from graphrag_dagster.systems.context_leiden.index.units import Doubles, Units
    from graphrag_dagster.systems.context_leiden.settings import ContextSettings

#: Scores that differ in later digits alone are equal.
_DIGITS = 9
#: What the logarithm of a power of two may be off.
_ROUNDING = 1e-9

TAKEN, OVER_BUDGET, PENALISED, UNREACHED, DISSIMILAR = range(len(OUTCOMES))


@dataclass(frozen=True, slots=True)
class Candidates:
    """Nodes that are most like a community other than their own, ascending.

    Attributes:
        node: the place of each.
        target: the community that it is most like.
        similarity: mean cosine with that.
        distance: edges to it, -1 for more than are looked at.
        centrality: normalised betweenness.
    """

    node: Places
    target: Places
    similarity: Doubles
    distance: NDArray[np.int32]
    centrality: Doubles


@dataclass(frozen=True, slots=True)
class Selection:
    """What became of candidates.

    Attributes:
        score: squared similarity over 1 + distance; 0 for those that are dropped.
        penalised: the score after the penalty of central nodes.
        rank: place among the candidates of the community, 1…; 0 for those without a score.
        outcome: place in :data:`~graphrag_dagster.systems.context_leiden.tables.OUTCOMES`.
    """

    score: Doubles
    penalised: Doubles
    rank: Places
    outcome: Places


def select(candidates: Candidates, options: ContextSettings) -> Selection:
    """Score candidates and take the best of each community, as many as its budget allows.

    Only those with a score above 0 after the penalty count for the budget. Of equals, to nine digits, the
    more similar one comes first, then the one with the lower number.
    """
    unreachable = candidates.distance == UNREACHABLE
    hops = np.where(unreachable, options.max_hops + 1, candidates.distance)
    dissimilar = candidates.similarity <= options.min_sim
    dropped = dissimilar | (unreachable & (options.unreachable == "drop"))
    score = np.where(dropped, 0.0, np.square(candidates.similarity) / (1 + hops))
    penalised = penalty(score, candidates.centrality, options)
    rank, rivals = _ranks(candidates, penalised)
    budget = budgets(rivals, options)
    outcome = np.select(
        [dissimilar, dropped, penalised <= 0, rank <= budget],
        [DISSIMILAR, UNREACHED, PENALISED, TAKEN],
        OVER_BUDGET,
    )
    return Selection(score, penalised, rank, outcome)


def penalty(score: Doubles, centrality: Doubles, options: ContextSettings) -> Doubles:
    """Return scores that are lower the more central a node is."""
    if options.penalty == "factor":
        return score / (1 + centrality)
    return np.maximum(score - options.gamma * centrality, 0.0)


def budgets(candidates: Places, options: ContextSettings) -> Places:
    """Return how many context nodes a community with so many candidates may have: rounded down."""
    grown = options.alpha * np.log2(candidates + 1.0) + _ROUNDING
    whole: Places = np.floor(np.minimum(grown, options.lambda_max)).astype(np.int64)
    return whole


def _ranks(candidates: Candidates, penalised: Doubles) -> tuple[Places, Places]:
    """Return the rank of each among those of its community with a score, and how many these are."""
    rank = np.zeros(len(penalised), dtype=np.int64)
    rivals = rank.copy()
    scored = np.flatnonzero(penalised > 0)
    target = candidates.target[scored]
    by_score, by_similarity = penalised[scored].round(_DIGITS), candidates.similarity[scored].round(_DIGITS)
    order = np.lexsort((candidates.node[scored], -by_similarity, -by_score, target))
    _, first, counts = np.unique(target[order], return_index=True, return_counts=True)
    rank[scored[order]] = np.arange(len(order)) - np.repeat(first, counts) + 1
    rivals[scored[order]] = np.repeat(counts, counts)
    return rank, rivals


@dataclass(frozen=True, slots=True)
class Context:
    """Context nodes of a partition, which itself is as it was.

    Attributes:
        candidates: misaligned nodes: those most like a community other than their own.
        home_similarity: mean cosine of each with its own community.
        selection: what became of each.
        without_vector: clustered nodes that nothing can be compared of.
    """

    candidates: Candidates
    home_similarity: Doubles
    selection: Selection
    without_vector: int


def context_leiden(
    graph: Adjacency, labels: Places, units: Units, central: Doubles, options: ContextSettings
) -> Context:
    """Find the context nodes of a partition.

    Args:
        graph: the edges.
        labels: of every node its community, 0… without gaps; -1 for a node in none.
        units: vectors of the nodes.
        central: their normalised betweenness.
        options: how they are chosen.
    """
    members = np.flatnonzero(labels >= 0)
    own = labels[members]
    aligned = alignment(units, members, own, include_self=options.include_self)
    moved = np.flatnonzero(aligned.target != own)
    nodes, targets = members[moved], aligned.target[moved]
    candidates = Candidates(
        nodes,
        targets,
        aligned.similarity[moved],
        distances(graph, labels, nodes, targets, options.max_hops),
        central[nodes],
    )
    without = len(members) - int(units.present[members].sum())
    return Context(candidates, aligned.home[moved], select(candidates, options), without)
