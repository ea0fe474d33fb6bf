"""Vectors of nodes as a setting asks for them.

Vectors of text and structure together (spec_context_leiden §2).
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_scores import unit_rows
from graphrag_dagster.kernel.graph.network import Network
from graphrag_dagster.kernel.models.local.local_models import installed
from graphrag_dagster.kernel.retrieval.ranking import rows_of
from graphrag_dagster.kernel.settings.studies import Embedding
from graphrag_dagster.systems.context_leiden.index.vectors.node_vectors import (
    WINDOW,
    NodeVectors,
    dimension,
    weights,
)
from graphrag_dagster.systems.context_leiden.index.vectors.spectral import spectral_vectors

_LENGTH, _WALKS, _NEGATIVES, _EPOCHS = 40, 10, 5, 3
_SETTING = "context.embedding is node2vec"


def node2vec_vectors(graph: Network, ids: pl.Series, seed: int) -> NodeVectors:
    """Return vectors of where nodes are in the graph; a node without an edge has zeros.

    128 dimensions (64 below 1,000 nodes), ten walks of 40 nodes from each, a window of 5, 5 negatives, three
    epochs (spec_context_leiden §2). One thread, so that the same graph and seed give the same bytes.

    Args:
        graph: weighted edges.
        ids: of the nodes, sorted, with all names of the graph.
        seed: of the walks and of the training.

    Raises:
        EngineError: the extra ``node2vec`` is not installed.
    """
    release = installed("gensim", _SETTING, "node2vec")
    width = dimension(len(ids))
    matrix = weights(graph, ids)
    found = np.zeros((len(ids), width), dtype=np.float32)
    if matrix.nnz:
        from gensim.models import Word2Vec

        model = Word2Vec(
            _Sentences(walks(matrix, seed)),
            vector_size=width,
            window=WINDOW,
            min_count=0,
            sg=1,
            negative=_NEGATIVES,
            epochs=_EPOCHS,
            workers=1,
            seed=seed % 2**32,
        )
        found[[int(node) for node in model.wv.index_to_key]] = model.wv.vectors
    name = f"node2vec/dim={width} walks={_WALKS}×{_LENGTH} window={WINDOW} seed={seed}@gensim-{release}"
    return NodeVectors(ids, found, name)


def walks(matrix: Any, seed: int) -> NDArray[np.int32]:
    """Return random walks from every node with an edge, shape [walks, 40], in random order.

    The next node is drawn by the weights of the edges to it.
    """
    starts = matrix.indptr.astype(np.int64)
    upper = np.concatenate([[0.0], np.cumsum(matrix.data)])
    rng = np.random.default_rng(seed)
    at = rng.permutation(np.tile(np.flatnonzero(np.diff(starts)), _WALKS))
    found = np.empty((len(at), _LENGTH), dtype=np.int32)
    found[:, 0] = at
    for step in range(1, _LENGTH):
        low, high = upper[starts[at]], upper[starts[at + 1]]
        drawn = np.searchsorted(upper, low + rng.random(len(at)) * (high - low), side="right") - 1
        at = matrix.indices[drawn.clip(starts[at], starts[at + 1] - 1)]
        found[:, step] = at
    return found


class _Sentences:
    """Walks as sentences of words, made anew each time that they are read."""

    def __init__(self, found: NDArray[np.int32]) -> None:
        self._found = found

    def __iter__(self) -> Iterator[list[str]]:
        for walk in self._found:
            yield list(map(str, walk.tolist()))


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


#: Share of the text in vectors put side by side: its square weighs the cosine of the texts.
TEXT_WEIGHT = 0.7

_Singles = NDArray[np.float32]


def side_by_side(text: NodeVectors, structure: NodeVectors) -> NodeVectors:
    """Return both parts one after the other: a cosine is .49 of the texts' and .51 of the structures'.

    A node that lacks a part is compared by the other alone, the less so the less that weighs.

    Args:
        text: of the same nodes in the same order as ``structure``.
        structure: where they are in the graph.
    """
    rest = np.float32(np.sqrt(1 - TEXT_WEIGHT**2))
    matrix = np.hstack([unit_rows(text.matrix) * np.float32(TEXT_WEIGHT), unit_rows(structure.matrix) * rest])
    return NodeVectors(text.ids, matrix, f"concat/{text.name} + {structure.name} text_weight={TEXT_WEIGHT}")


def averaged(text: NodeVectors, structure: NodeVectors, seed: int) -> NodeVectors:
    """Return the mean of both; the longer one is projected to the length of the other by a random matrix.

    Args:
        text: of the same nodes in the same order as ``structure``.
        structure: where they are in the graph.
        seed: of the random matrix.
    """
    width = min(text.matrix.shape[1], structure.matrix.shape[1])
    parts = [_narrowed(part.matrix, width, seed) for part in (text, structure)]
    return NodeVectors(
        text.ids, (parts[0] + parts[1]) / np.float32(2), f"mean/{text.name} + {structure.name} seed={seed}"
    )


def _narrowed(matrix: _Singles, width: int, seed: int) -> _Singles:
    if matrix.shape[1] > width:
        shape = (matrix.shape[1], width)
        matrix = matrix @ np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return unit_rows(matrix)
