"""The main graph, and the store of what stands apart from it."""

import numpy as np
import polars as pl

from graphrag_dagster.core.coterag.indexing.triples import Places, TripleGraph
from graphrag_dagster.core.graph.components import connected_components

#: Nodes from which a weakly connected component is of the main graph.
KEPT_COMPONENT = 5


def stores(graph: TripleGraph, at_least: int = KEPT_COMPONENT) -> pl.DataFrame:
    """Return for every entity, in the order of the graph, which store it is in.

    Args:
        graph: whose triples connect entities, in whichever direction.
        at_least: entities from which a component is of the main graph.

    Returns:
        ``entity_id``, ``store`` (``main`` or ``preserved``), ``component`` (0… by size descending, then by
        its first entity) and ``component_size``.
    """
    root = connected_components(graph.head, graph.tail, len(graph.entities))
    size = np.bincount(root, minlength=len(root))[root]
    main = size >= at_least
    return pl.DataFrame(
        {
            "entity_id": graph.entities["entity_id"],
            "store": np.where(main, "main", "preserved"),
            "component": _numbered(root, size),
            "component_size": size,
        },
        schema={
            "entity_id": pl.String,
            "store": pl.String,
            "component": pl.Int64,
            "component_size": pl.Int64,
        },
    )


def _numbered(root: Places, size: Places) -> Places:
    roots, first, inverse = np.unique(root, return_index=True, return_inverse=True)
    order = np.lexsort((roots, -size[first]))
    number = np.empty(len(roots), dtype=np.int64)
    number[order] = np.arange(len(roots))
    return number[inverse.reshape(-1)]
