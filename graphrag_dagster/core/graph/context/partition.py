"""Context nodes of one partition (spec_context_leiden §1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graphrag_dagster.core.graph.context.distances import distances
from graphrag_dagster.core.graph.context.selection import Candidates, Selection, select
from graphrag_dagster.core.graph.context.similarity import alignment

if TYPE_CHECKING:
    from graphrag_dagster.core.graph.context.adjacency import Adjacency, Places
    from graphrag_dagster.core.graph.context.units import Doubles, Units
    from graphrag_dagster.settings.context import ContextSettings


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
