"""Vectors of nodes as a setting asks for them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import polars as pl

from graphrag_dagster.core.graph.context.vectors.combined import averaged, side_by_side
from graphrag_dagster.core.graph.context.vectors.node2vec import node2vec_vectors
from graphrag_dagster.core.graph.context.vectors.node_vectors import NodeVectors
from graphrag_dagster.core.graph.context.vectors.spectral import spectral_vectors
from graphrag_dagster.core.graph.context.vectors.text import text_vectors
from graphrag_dagster.core.graph.network import Network
from graphrag_dagster.errors import GraphragError

Embedding = Literal["text", "spectral", "node2vec", "concat", "mean"]
Structure = Literal["spectral", "node2vec"]

#: Embeddings that need no texts.
STRUCTURES: Mapping[str, Callable[[Network, pl.Series, int], NodeVectors]] = MappingProxyType(
    {"spectral": spectral_vectors, "node2vec": node2vec_vectors}
)


def node_vectors(
    embedding: Embedding,
    ids: pl.Series,
    text: pl.DataFrame | None,
    graph: Network,
    seed: int = 0,
    structure: Structure = "spectral",
) -> NodeVectors:
    """Return the vectors by which nodes are compared.

    Args:
        embedding: ``text``, ``spectral`` or ``node2vec``; ``concat`` and ``mean`` are of text and structure.
        ids: of the nodes, distinct, with all names of the graph.
        text: rows of ``embeddings.entities``, which ``spectral`` and ``node2vec`` do without.
        graph: weighted edges.
        seed: of what is drawn at random.
        structure: the structural part of ``concat`` and ``mean``.

    Returns:
        vectors in the order of the sorted ids.

    Raises:
        GraphragError: the vectors of texts are needed and not there, or are of several embedders; or an edge
            leads to a node without an id.
        EngineError: the extra ``node2vec`` is needed and not installed.
    """
    ids = ids.sort()
    strays = graph.names.filter(~graph.names.is_in(ids.implode()))
    if len(strays):
        raise GraphragError(
            f"{len(strays)} ends of relationships are not among the nodes, e.g. {strays[0]!r}: the two come "
            "from different runs; materialise the graph again"
        )
    if embedding in STRUCTURES:
        return STRUCTURES[embedding](graph, ids, seed)
    if text is None:
        raise GraphragError(
            f"context.embedding is {embedding}, but there are no vectors of entities: materialise "
            "embeddings/entities, or set it to spectral, which needs none"
        )
    said = text_vectors(text, ids)
    if embedding == "text":
        return said
    place = STRUCTURES[structure](graph, ids, seed)
    return side_by_side(said, place) if embedding == "concat" else averaged(said, place, seed)
