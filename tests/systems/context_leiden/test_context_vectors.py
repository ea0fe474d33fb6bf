import importlib.metadata
from typing import Any

import numpy as np
import polars as pl
import pytest

from graphrag_dagster.errors import EngineError, GraphragError
from graphrag_dagster.kernel.common.stable_values import unit_rows
from graphrag_dagster.kernel.graph.undirected_graph import Network, network
from graphrag_dagster.systems.context_leiden.index import node_embeddings as spectral
from graphrag_dagster.systems.context_leiden.index.node_embeddings import (
    NodeVectors,
    Walking,
    dimension,
    log_pmi,
    node_vectors,
    walks,
    weights,
)

BLOCK = 25
NO_EDGES = network(pl.DataFrame(schema={"source": pl.String, "target": pl.String, "weight": pl.Float64}))


def blocks_of_nodes(blocks: int = 4, seed: int = 0, alone: int = 2) -> tuple[Network, pl.Series]:
    """Blocks of 25 nodes, most edges inside them, and some nodes without an edge."""
    rng = np.random.default_rng(seed)
    nodes = blocks * BLOCK
    one = np.concatenate([np.arange(nodes), rng.integers(0, nodes, nodes * 4)])
    other = np.where(
        rng.random(len(one)) < 0.9, one // BLOCK * BLOCK + (one + 1) % 7, rng.integers(0, nodes, len(one))
    )
    names = [f"n{place:04d}" for place in range(nodes)]
    edges = {
        "source": [names[place] for place in one],
        "target": [names[place] for place in other],
        "weight": rng.integers(1, 4, len(one)).astype(float),
    }
    return network(pl.DataFrame(edges)), pl.Series(names + [f"z{place}" for place in range(alone)])


def embeddings(vectors: dict[str, list[float]], embedder: str = "static@1") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "entity_id": list(vectors),
            "text_hash": [f"h{place}" for place in range(len(vectors))],
            "embedder": [embedder] * len(vectors),
            "vector": list(vectors.values()),
        },
        schema_overrides={"vector": pl.List(pl.Float32), "embedder": pl.String, "entity_id": pl.String},
    )


def cosines(vectors: NodeVectors) -> np.ndarray:
    lengths = np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    units = vectors.matrix / np.where(lengths > 0, lengths, 1)
    return units @ units.T


def inside_minus_outside(vectors: NodeVectors, blocks: int = 4) -> float:
    found = cosines(vectors)[: blocks * BLOCK, : blocks * BLOCK]
    block = np.arange(len(found)) // BLOCK
    same = block[:, None] == block[None, :]
    return float(found[same].mean() - found[~same].mean())


@pytest.mark.parametrize("width", [None, 2])
def test_vectors_of_texts_are_those_of_the_index(width: int | None) -> None:
    rows = embeddings({"b": [0.0, 1.0], "a": [1.0, 0.0], "x": [0.5, 0.5]})
    if width:
        rows = rows.with_columns(pl.col("vector").list.to_array(width))
    found = node_vectors("text", pl.Series(["c", "b", "a"]), rows, NO_EDGES)
    assert found.ids.to_list() == ["a", "b", "c"]
    assert found.matrix.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert found.name == "text/static@1"
    assert not node_vectors("text", pl.Series(["q"]), rows, NO_EDGES).matrix.any()


def test_vectors_of_two_embedders_are_not_compared() -> None:
    rows = pl.concat([embeddings({"a": [1.0]}), embeddings({"b": [1.0]}, "other@2")])
    graph, ids = blocks_of_nodes()
    with pytest.raises(GraphragError, match=r"other@2, static@1, which cannot be compared: materialise"):
        node_vectors("text", ids, rows, graph)


@pytest.mark.parametrize("embedding", ["text", "concat", "mean"])
def test_without_vectors_of_texts_it_is_said_what_to_do(embedding: Any) -> None:
    graph, ids = blocks_of_nodes()
    with pytest.raises(GraphragError, match=f"context.embedding is {embedding}, but .* embeddings/entities"):
        node_vectors(embedding, ids, None, graph)
    with pytest.raises(GraphragError, match="embeddings.entities has no vectors: materialise"):
        node_vectors(embedding, ids, embeddings({}), graph)


def test_the_factorised_matrix_is_that_of_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectral, "_COLUMNS", 7)
    graph, ids = blocks_of_nodes(2)
    matrix = weights(graph, ids)
    dense = matrix.toarray()
    strength = dense.sum(axis=1)
    inverse = np.diag([1 / value if value else 0 for value in strength])
    walk = inverse @ dense
    total = sum(np.linalg.matrix_power(walk, r) for r in range(1, 6))
    expected = np.log(np.maximum(strength.sum() / 5 * total @ inverse, 1))
    assert np.allclose(log_pmi(matrix), expected, atol=1e-5)


@pytest.mark.parametrize("largest", [20_000, 0])
@pytest.mark.parametrize("embedding", ["spectral", "node2vec"])
def test_structural_vectors_tell_blocks_apart(
    embedding: Any, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectral, "_FACTORISED_UP_TO", largest)
    graph, ids = blocks_of_nodes()
    found = node_vectors(embedding, ids, None, graph, seed=3)
    assert found.matrix.dtype == np.float32
    assert found.matrix.shape == (102, 64)
    assert inside_minus_outside(found) > 0.1
    linked = np.isin(ids.to_numpy(), graph.names.to_numpy())
    assert found.matrix.any(axis=1).tolist() == linked.tolist()
    again = node_vectors(embedding, ids.reverse(), None, graph, seed=3)
    assert again.matrix.tobytes() == found.matrix.tobytes()
    assert again.name == found.name
    assert node_vectors(embedding, ids, None, graph, seed=4).name != found.name


def test_large_graphs_have_more_dimensions() -> None:
    assert [dimension(nodes) for nodes in (0, 999, 1000)] == [64, 64, 128]
    graph, ids = blocks_of_nodes(41, alone=0)
    assert node_vectors("spectral", ids, None, graph).matrix.shape == (1025, 128)


@pytest.mark.parametrize("largest", [20_000, 0])
@pytest.mark.parametrize("rows", [[], [("a", "a", 1.0)], [("a", "b", 0.0)]])
def test_without_edges_structural_vectors_are_zeros(
    rows: list[tuple[str, str, float]], largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectral, "_FACTORISED_UP_TO", largest)
    schema = {"source": pl.String, "target": pl.String, "weight": pl.Float64}
    graph = network(pl.DataFrame(rows, schema=schema, orient="row"))
    for ids in (pl.Series(["a", "b", "c"]), pl.Series(["a", "b"])):
        for embedding in ("spectral", "node2vec"):
            found = node_vectors(embedding, ids, None, graph)
            assert len(found.matrix) == len(ids)
            assert not found.matrix.any()


def test_two_nodes_and_an_empty_graph_have_vectors_without_an_error() -> None:
    pair = network(pl.DataFrame({"source": ["a"], "target": ["b"], "weight": [2.0]}))
    assert np.isfinite(node_vectors("spectral", pl.Series(["a", "b"]), None, pair).matrix).all()
    none = network(pl.DataFrame(schema={"source": pl.String, "target": pl.String, "weight": pl.Float64}))
    empty = pl.Series([], dtype=pl.String)
    for embedding in ("spectral", "node2vec"):
        assert not len(node_vectors(embedding, empty, None, none).matrix)


def test_walks_go_along_edges_by_their_weights() -> None:
    edges = {"source": ["a", "a", "a"], "target": ["b", "c", "d"], "weight": [1.0, 3.0, 0.0]}
    found = walks(weights(network(pl.DataFrame(edges)), pl.Series(list("abcdz"))), seed=1)
    assert found.shape == (30, 40)
    assert set(found[:, 0].tolist()) == {0, 1, 2}
    assert ((found[:, 1:] == 0) == (found[:, :-1] != 0)).all()
    after = found[:, 1:][found[:, :-1] == 0]
    assert set(after.tolist()) == {1, 2}
    assert (after == 2).mean() == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize(("p", "q"), [(4.0, 1.0), (0.25, 1.0), (1.0, 4.0), (1.0, 0.25), (0.5, 2.0)])
def test_p_and_q_change_the_walks_as_they_are_defined(p: float, q: float) -> None:
    # From a over b: back to a, on to c, a neighbour of a too, or out to d.
    edges = [("a", "b", 1.0), ("a", "c", 1.0), ("b", "c", 2.0), ("b", "d", 3.0)]
    graph = network(pl.DataFrame(edges, schema=["source", "target", "weight"], orient="row"))
    matrix = weights(graph, pl.Series(list("abcd")))
    found = walks(matrix, 1, Walking(p, q, walks=1500, length=12))
    triples = np.lib.stride_tricks.sliding_window_view(found, 3, axis=1).reshape(-1, 3)
    after = triples[(triples[:, 0] == 0) & (triples[:, 1] == 1), 2]
    odds = np.array([1 / p, 2.0, 3 / q])
    shares = [float((after == node).mean()) for node in (0, 2, 3)]
    assert len(after) > 3000
    assert shares == pytest.approx((odds / odds.sum()).tolist(), abs=0.03)


def test_node2vec_is_named_by_what_decides_its_vectors() -> None:
    graph, ids = blocks_of_nodes()
    found = node_vectors(
        "node2vec", ids, None, graph, walking=Walking(0.5, 2, dimension=16, walks=4, length=9)
    )
    assert found.matrix.shape == (102, 16)
    assert found.name.startswith("node2vec/dim=16 p=0.5 q=2 walks=4×9 window=5 seed=0@gensim-")
    assert node_vectors("node2vec", ids, None, graph).name.startswith("node2vec/dim=64 walks=10×40 window=5")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", version)
    graph, ids = blocks_of_nodes()
    with pytest.raises(EngineError) as raised:
        node_vectors("node2vec", ids, None, graph)
    assert str(raised.value) == (
        "context.embedding is node2vec, but gensim is not installed; run: "
        'pip install "graphrag-dagster[node2vec]"'
    )


def test_an_edge_to_a_node_without_an_id_is_an_error() -> None:
    graph, ids = blocks_of_nodes()
    with pytest.raises(GraphragError, match="1 ends of relationships are not among the nodes, e.g. 'n0003'"):
        node_vectors("spectral", ids.filter(ids != "n0003"), None, graph)


def test_side_by_side_a_cosine_is_the_weighted_sum() -> None:
    graph, ids = blocks_of_nodes()
    rng = np.random.default_rng(0)
    rows = embeddings({node: rng.standard_normal(9).tolist() for node in ids})
    text, place = (node_vectors(kind, ids, rows, graph) for kind in ("text", "spectral"))
    both = node_vectors("concat", ids, rows, graph)
    assert both.matrix.shape == (102, 9 + 64)
    expected = 0.49 * cosines(text) + 0.51 * cosines(place)
    assert np.allclose(cosines(both)[:100, :100], expected[:100, :100], atol=1e-5)
    assert np.allclose(cosines(both)[100, 101], cosines(text)[100, 101], atol=1e-5)
    assert text.name in both.name
    assert place.name in both.name
    assert node_vectors("concat", ids, rows, graph, structure="node2vec").name != both.name


@pytest.mark.parametrize("width", [64, 300, 9])
def test_the_mean_is_of_unit_vectors_of_one_length(width: int) -> None:
    graph, ids = blocks_of_nodes()
    rng = np.random.default_rng(0)
    rows = embeddings({node: rng.standard_normal(width).tolist() for node in ids})
    text, place = (node_vectors(kind, ids, rows, graph, seed=5) for kind in ("text", "spectral"))
    mean = node_vectors("mean", ids, rows, graph, seed=5)
    assert mean.matrix.shape == (102, min(width, 64))
    assert mean.matrix.tobytes() == node_vectors("mean", ids, rows, graph, seed=5).matrix.tobytes()
    if width == 64:
        units = [unit_rows(part.matrix) for part in (text, place)]
        assert np.allclose(mean.matrix, (units[0] + units[1]) / 2, atol=1e-6)
