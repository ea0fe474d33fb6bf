"""Vectors of what is said of nodes: those of the index."""

import numpy as np
import polars as pl

from graphrag_dagster.core.graph.context.vectors.node_vectors import NodeVectors
from graphrag_dagster.core.search.retrieval.vectors import rows_of
from graphrag_dagster.errors import GraphragError


def text_vectors(rows: pl.DataFrame, ids: pl.Series) -> NodeVectors:
    """Return the vectors of nodes' titles and descriptions.

    Args:
        rows: of ``embeddings.entities``.
        ids: of the nodes; one without a row has zeros, as one whose text is blank.

    Raises:
        GraphragError: there are nodes and no rows, or they are of several embedders.
    """
    if ids.is_empty():
        return NodeVectors(ids, np.zeros((0, 1), dtype=np.float32), "text")
    embedders = rows["embedder"].unique().sort().to_list()
    if len(embedders) != 1:
        found = f"vectors of {', '.join(embedders)}, which cannot be compared" if embedders else "no vectors"
        raise GraphragError(
            f"embeddings.entities has {found}: materialise embeddings/entities again, or set "
            "context.embedding to spectral, which needs none"
        )
    matrix = rows_of(ids.to_list(), rows, "entity_id")
    if matrix is None:
        matrix = np.zeros((len(ids), 1), dtype=np.float32)
    return NodeVectors(ids, matrix, f"text/{embedders[0]}")
