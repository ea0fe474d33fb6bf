"""Node embeddings from text, graph structure, or both (paper §III.A, step 1).

Up to 20,000 nodes the matrix that skip-gram with random walks factorises implicitly is made and factorised
(NetMF, Qiu et al. 2018, §3): the logarithm of how much likelier two nodes are met within a window than by
chance. Beyond, random projections of the neighbourhoods (FastRP, Chen et al. 2019).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_values import unit_rows
from graphrag_dagster.kernel.graph.undirected_graph import Network
from graphrag_dagster.kernel.models.local_models import installed_version
from graphrag_dagster.kernel.retrieval.ranking import rows_of
from graphrag_dagster.kernel.settings.study_settings import Embedding
from graphrag_dagster.systems.context_leiden.index.cosine_similarity import blocks


@dataclass(frozen=True, slots=True)
class NodeVectors:
    """Vectors of nodes, of any length: they are compared by their cosine.

    Attributes:
        ids: of the nodes, distinct.
        matrix: shape [nodes, d], finite; zeros for a node that there is nothing to compare of.
        name: what made them, with all that decides them.

    Raises:
        GraphragError: there are not as many rows as ids, an id comes twice, or a number is not finite; names
            the node.
    """

    ids: pl.Series
    matrix: NDArray[np.float32]
    name: str

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.ids):
            raise GraphragError(
                f"The vectors {self.name} have the shape {self.matrix.shape}; {len(self.ids)} nodes need "
                "a row each"
            )
        twice = self.ids.filter(self.ids.is_duplicated())
        if len(twice):
            raise GraphragError(f"The vectors {self.name} have node {twice[0]!r} twice; each may stand once")
        wrong = np.flatnonzero(~np.isfinite(self.matrix).all(axis=1))
        if len(wrong):
            raise GraphragError(
                f"The vectors {self.name} are not finite for {len(wrong)} nodes, e.g. "
                f"{self.ids[int(wrong[0])]!r}: embed the entities again, with another embedder if need be"
            )

    def of(self, ids: pl.Series) -> NDArray[np.float32]:
        """Return the rows of nodes in the order of their ids; zeros for those that there are none of."""
        if ids.equals(self.ids):
            return self.matrix
        places = pl.DataFrame({"id": ids}).join(
            pl.DataFrame({"id": self.ids, "place": np.arange(len(self.ids))}),
            on="id",
            how="left",
            maintain_order="left",
        )["place"]
        found = np.zeros((len(ids), self.matrix.shape[1]), dtype=np.float32)
        known = places.is_not_null().to_numpy()
        found[known] = self.matrix[places.drop_nulls().to_numpy()]
        return found


#: Steps along edges within which nodes are near each other.
WINDOW = 5
_WIDE, _NARROW, _SMALL_GRAPH = 128, 64, 1000
#: Share of the longest row below which a row is what rounding leaves of zeros.
_NOTHING = 1e-5


def dimension(nodes: int) -> int:
    """Return how long structural vectors are: 128, in graphs of less than 1,000 nodes 64."""
    return _NARROW if nodes < _SMALL_GRAPH else _WIDE


def weights(graph: Network, ids: pl.Series) -> Any:
    """Return the symmetric sparse matrix of weights, SciPy's ``csr_array``, in the order of sorted ids."""
    from scipy.sparse import csr_array

    places = ids.search_sorted(graph.names).to_numpy().astype(np.int64)
    low, high = places[graph.low], places[graph.high]
    ends = (np.concatenate([low, high]), np.concatenate([high, low]))
    found = csr_array((np.tile(graph.weight, 2), ends), shape=(len(ids), len(ids)))
    found.eliminate_zeros()
    found.sort_indices()
    return found


def safe_inverse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / values, 0 for 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def without_noise(matrix: NDArray[np.float32], present: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Set rows to zeros: those of nodes without an edge, and those of which only rounding is left."""
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1))
    matrix[~present | (lengths <= _NOTHING * lengths.max(initial=0.0))] = 0
    return matrix


_FACTORISED_UP_TO = 20_000
_COLUMNS = 256
_MORE, _ITERATIONS = 16, 4
#: Share of the largest singular value below which one is what rounding leaves of zero.
#: Hops of the projections.
_HOPS = 4

_Singles = NDArray[np.float32]


def spectral_vectors(graph: Network, ids: pl.Series, seed: int) -> NodeVectors:
    """Return vectors of where nodes are in the graph; a node without an edge has zeros.

    Components too small to be among what the dimensions can tell have zeros, too.

    Args:
        graph: weighted edges.
        ids: of the nodes, sorted, with all names of the graph.
        seed: of the random projection with which the factorisation begins.
    """
    matrix = weights(graph, ids)
    width = dimension(len(ids))
    if len(ids) <= _FACTORISED_UP_TO:
        how, made = f"log-pmi window={WINDOW}", _factorise(log_pmi(matrix), width, seed)
    else:
        how, made = f"fastrp hops={_HOPS}", _random_projection(matrix, width, seed)
    present = np.diff(matrix.indptr) > 0
    name = f"spectral/{how} dim={width} seed={seed}@scipy-{version('scipy')}"
    return NodeVectors(ids, without_noise(made, present), name)


def log_pmi(matrix: Any) -> _Singles:
    """Return the dense symmetric matrix log max(1, vol / T · Σ_r (D⁻¹A)^r D⁻¹), r = 1…T, T the window."""
    nodes = matrix.shape[0]
    strength = matrix.sum(axis=1)
    inverse = safe_inverse(strength)
    # Steps are taken from the right: a column holds where a walk from its node goes.
    step = matrix.multiply(inverse[None, :]).tocsr()
    scale = strength.sum() / WINDOW * inverse
    found = np.empty((nodes, nodes), dtype=np.float32)
    for some in blocks(nodes, _COLUMNS):
        reached = step[:, some].toarray()
        total = reached.copy()
        for _ in range(WINDOW - 1):
            reached = step @ reached
            total += reached
        total *= scale[:, None]
        found[some] = np.log(np.maximum(total, 1.0, out=total), out=total).T
    return found


def _factorise(matrix: _Singles, width: int, seed: int) -> _Singles:
    """Return U √Σ of the largest singular values, at most ``width``, by subspace iteration."""
    nodes = len(matrix)
    if not matrix.any():
        return np.zeros((nodes, width), dtype=np.float32)
    drawn = np.random.default_rng(seed).standard_normal((nodes, min(width + _MORE, nodes)), dtype=np.float32)
    basis = _orthonormal(matrix @ drawn)
    for _ in range(_ITERATIONS):
        basis = _orthonormal(matrix @ basis)
    squares, turns = _axes(matrix @ basis)
    values = np.sqrt(squares[:width])
    kept = values > _NOTHING * values[0]
    found = (basis @ turns[:, :width][:, kept]) * np.sqrt(values[kept])
    return _with_signs(found.astype(np.float32))


def _orthonormal(columns: _Singles) -> _Singles:
    """Return an orthonormal basis of columns, without what depends on the others."""
    squares, turns = _axes(columns)
    kept = squares > _NOTHING**2 * squares[0]
    found: _Singles = (columns @ (turns[:, kept] / np.sqrt(squares[kept]))).astype(np.float32)
    return found


def _axes(columns: _Singles) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return squared singular values, falling, and right singular vectors of a matrix with few columns.

    By products alone: LAPACK's own ways wait long for each other's threads where others use the processors.
    """
    double = columns.astype(np.float64)
    squares, turns = np.linalg.eigh(double.T @ double)
    return squares[::-1].clip(min=0), turns[:, ::-1]


def _with_signs(matrix: _Singles) -> _Singles:
    """Turn each column so that its entry farthest from 0 is positive."""
    farthest = np.abs(matrix).argmax(axis=0)
    signs = np.where(matrix[farthest, np.arange(matrix.shape[1])] < 0, -1, 1).astype(np.float32)
    return matrix * signs


def _random_projection(matrix: Any, width: int, seed: int) -> _Singles:
    """Return the sum over the hops of unit random projections of what is as many edges away."""
    step = matrix.multiply(safe_inverse(matrix.sum(axis=1))[:, None]).tocsr().astype(np.float32)
    drawn = np.random.default_rng(seed).standard_normal((matrix.shape[0], width), dtype=np.float32)
    total = np.zeros_like(drawn)
    for _ in range(_HOPS):
        drawn = step @ drawn
        total += unit_rows(drawn)
    return total


_NEGATIVES, _EPOCHS = 5, 3
_SETTING = "context.embedding is node2vec"


@dataclass(frozen=True, slots=True)
class Walking:
    """How node2vec walks (Grover and Leskovec 2016).

    Attributes:
        p: going straight back is 1/p times as likely as its edge's weight says.
        q: going to a node that is no neighbour of the one before is 1/q times as likely; with p = q = 1 walks
            are those of DeepWalk.
        dimension: of the vectors; None: :func:`dimension`.
        walks: from each node.
        length: nodes of a walk.
    """

    p: float = 1.0
    q: float = 1.0
    dimension: int | None = None
    walks: int = 10
    length: int = 40


AS_DEEPWALK = Walking()


def node2vec_vectors(
    graph: Network, ids: pl.Series, seed: int, walking: Walking = AS_DEEPWALK
) -> NodeVectors:
    """Return vectors of where nodes are in the graph; a node without an edge has zeros.

    A window of 5, 5 negatives, three epochs. One thread, so that the same graph and
    seed give the same bytes.

    Args:
        graph: weighted edges.
        ids: of the nodes, sorted, with all names of the graph.
        seed: of the walks and of the training.
        walking: how walks are made, and the dimension; by default as DeepWalk, with 128 dimensions (64 below
            1,000 nodes) and ten walks of 40 nodes from each.

    Raises:
        EngineError: the extra ``node2vec`` is not installed.
    """
    release = installed_version("gensim", _SETTING, "node2vec")
    width = walking.dimension or dimension(len(ids))
    matrix = weights(graph, ids)
    found = np.zeros((len(ids), width), dtype=np.float32)
    if matrix.nnz:
        from gensim.models import Word2Vec

        model = Word2Vec(
            _Sentences(walks(matrix, seed, walking)),
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
    bias = "" if walking.p == walking.q == 1 else f"p={walking.p:g} q={walking.q:g} "
    how = f"{bias}walks={walking.walks}×{walking.length} window={WINDOW} seed={seed}"
    name = f"node2vec/dim={width} {how}@gensim-{release}"
    return NodeVectors(ids, found, name)


def walks(matrix: Any, seed: int, walking: Walking = AS_DEEPWALK) -> NDArray[np.int32]:
    """Return random walks from every node with an edge, shape [walks, length], in random order.

    The next node is drawn by the weights of the edges to it, which p and q change (:class:`Walking`).
    """
    starts = matrix.indptr.astype(np.int64)
    upper = np.concatenate([[0.0], np.cumsum(matrix.data)])
    rng = np.random.default_rng(seed)
    at = rng.permutation(np.tile(np.flatnonzero(np.diff(starts)), walking.walks))
    found = np.empty((len(at), walking.length), dtype=np.int32)
    found[:, 0] = at

    def drawn(at: NDArray[np.int32]) -> NDArray[np.int32]:
        low, high = upper[starts[at]], upper[starts[at + 1]]
        drawn = np.searchsorted(upper, low + rng.random(len(at)) * (high - low), side="right") - 1
        chosen: NDArray[np.int32] = matrix.indices[drawn.clip(starts[at], starts[at + 1] - 1)]
        return chosen

    nodes = matrix.shape[0]
    edges = np.repeat(np.arange(nodes), np.diff(starts)) * nodes + matrix.indices
    likeliest = max(1.0, 1 / walking.p, 1 / walking.q)
    for step in range(1, walking.length):
        at = drawn(found[:, step - 1])
        # A draw stands with a chance in proportion to what p and q say of it, else it is made again.
        again = np.arange(len(at)) if step > 1 and (walking.p, walking.q) != (1, 1) else np.arange(0)
        while len(again):
            before, last = found[again, step - 2], at[again]
            key = before.astype(np.int64) * nodes + last
            place = np.searchsorted(edges, key).clip(max=len(edges) - 1)
            chance = np.where(edges[place] == key, 1.0, 1 / walking.q)
            chance[last == before] = 1 / walking.p
            again = again[rng.random(len(again)) * likeliest >= chance]
            at[again] = drawn(found[again, step - 1])
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
STRUCTURES: tuple[Structure, ...] = ("spectral", "node2vec")


def node_vectors(
    embedding: Embedding,
    ids: pl.Series,
    text: pl.DataFrame | None,
    graph: Network,
    seed: int = 0,
    structure: Structure = "spectral",
    walking: Walking = AS_DEEPWALK,
) -> NodeVectors:
    """Return the vectors by which nodes are compared.

    Args:
        embedding: ``text``, ``spectral`` or ``node2vec``; ``concat`` and ``mean`` are of text and structure.
        ids: of the nodes, distinct, with all names of the graph.
        text: rows of ``embeddings.entities``, which ``spectral`` and ``node2vec`` do without.
        graph: weighted edges.
        seed: of what is drawn at random.
        structure: the structural part of ``concat`` and ``mean``.
        walking: how ``node2vec`` walks.

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

    def placed(by: str) -> NodeVectors:
        if by == "spectral":
            return spectral_vectors(graph, ids, seed)
        return node2vec_vectors(graph, ids, seed, walking)

    if embedding in STRUCTURES:
        return placed(embedding)
    if text is None:
        raise GraphragError(
            f"context.embedding is {embedding}, but there are no vectors of entities: materialise "
            "embeddings/entities, or set it to spectral, which needs none"
        )
    said = text_vectors(text, ids)
    if embedding == "text":
        return said
    place = placed(structure)
    return concatenate_vectors(said, place) if embedding == "concat" else average_vectors(said, place, seed)


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


def concatenate_vectors(text: NodeVectors, structure: NodeVectors) -> NodeVectors:
    """Return both parts one after the other: a cosine is .49 of the texts' and .51 of the structures'.

    A node that lacks a part is compared by the other alone, the less so the less that weighs.

    Args:
        text: of the same nodes in the same order as ``structure``.
        structure: where they are in the graph.
    """
    rest = np.float32(np.sqrt(1 - TEXT_WEIGHT**2))
    matrix = np.hstack([unit_rows(text.matrix) * np.float32(TEXT_WEIGHT), unit_rows(structure.matrix) * rest])
    return NodeVectors(text.ids, matrix, f"concat/{text.name} + {structure.name} text_weight={TEXT_WEIGHT}")


def average_vectors(text: NodeVectors, structure: NodeVectors, seed: int) -> NodeVectors:
    """Return the mean of both; the longer one is projected to the length of the other by a random matrix.

    Args:
        text: of the same nodes in the same order as ``structure``.
        structure: where they are in the graph.
        seed: of the random matrix.
    """
    width = min(text.matrix.shape[1], structure.matrix.shape[1])
    parts = [_reduce_width(part.matrix, width, seed) for part in (text, structure)]
    return NodeVectors(
        text.ids, (parts[0] + parts[1]) / np.float32(2), f"mean/{text.name} + {structure.name} seed={seed}"
    )


def _reduce_width(matrix: _Singles, width: int, seed: int) -> _Singles:
    if matrix.shape[1] > width:
        shape = (matrix.shape[1], width)
        matrix = matrix @ np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return unit_rows(matrix)
