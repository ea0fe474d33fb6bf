"""Betweenness of all nodes, from all or some of them (spec_context_leiden §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.systems.context_leiden.index.sweep import Sweep
from graphrag_dagster.systems.context_leiden.index.units import Doubles, blocks

if TYPE_CHECKING:
    from graphrag_dagster.systems.context_leiden.index.adjacency import Adjacency
    from graphrag_dagster.systems.context_leiden.settings import ContextSettings

#: Pairs of a node and a source that are held at once.
_PAIRS = 2**24
_SOURCES = 1024


def centrality(graph: Adjacency, options: ContextSettings) -> Doubles:
    """Return the normalised betweenness of every node, 0–1.

    Exact up to ``options.exact_up_to`` nodes, beyond estimated from ``options.pivots``.

    Raises:
        GraphragError: see :func:`betweenness`.
    """
    exact = graph.nodes <= options.exact_up_to
    found = betweenness(graph, None if exact else options.pivots, options.seed)
    if options.centrality == "max":
        largest = float(found.max(initial=0.0))
    else:
        largest = (graph.nodes - 1) * (graph.nodes - 2) / 2
    return np.minimum(found / largest, 1.0) if largest > 0 else found


def betweenness(graph: Adjacency, pivots: int | None = None, seed: int = 0) -> Doubles:
    """Return how many shortest paths lead through each node: unweighted, undirected, ends excluded.

    Args:
        graph: the edges.
        pivots: nodes from which it is estimated (Brandes and Pich 2007): the sum over their paths times
            nodes / pivots; None or as many as there are nodes: exact.
        seed: of the pivots, drawn without repeats.

    Raises:
        GraphragError: two nodes have more shortest paths than a double can hold, 10³⁰⁸.
    """
    total = np.zeros(graph.nodes)
    if not len(graph.neighbours):
        return total
    chosen = np.arange(graph.nodes)
    if pivots is not None and pivots < graph.nodes:
        chosen = np.sort(np.random.default_rng(seed).choice(graph.nodes, pivots, replace=False))
    matrix = graph.matrix()
    # What overflows is looked for once, below.
    with np.errstate(over="ignore", invalid="ignore"):
        for some in blocks(len(chosen), min(max(_PAIRS // graph.nodes, 1), _SOURCES)):
            total += Sweep(graph, matrix, chosen[some]).dependencies()
    if not np.isfinite(total).all():
        raise GraphragError(
            "The graph has nodes with more than 10^308 shortest paths between them, of which no betweenness "
            "can be computed: it is a lattice rather than a graph of things in texts; see graph.relationships"
        )
    return total * (graph.nodes / len(chosen) / 2)
