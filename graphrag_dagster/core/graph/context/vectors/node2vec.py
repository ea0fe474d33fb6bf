"""Node2Vec with p = q = 1: random walks along weights, read as sentences (extra ``node2vec``)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.core.graph.context.vectors.node_vectors import NodeVectors
from graphrag_dagster.core.graph.context.vectors.structure import WINDOW, dimension, weights
from graphrag_dagster.core.graph.network import Network
from graphrag_dagster.core.language.local_models import installed

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
