"""The graph that is clustered: edges once, components, and the measure of a partition, as networkx has them."""

import math

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.undirected_graph import (
    Network,
    clustered_part,
    largest_component,
    modularity,
    network,
    network_of,
)

NODES = "abcdefgh"
EDGES = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.integers(0, 9)), max_size=25)
SCHEMA = {"source": pl.String, "target": pl.String, "weight": pl.Float64}


def frame(edges: list[tuple[str, str, float]]) -> pl.DataFrame:
    return pl.DataFrame(edges, schema=SCHEMA, orient="row")


def as_networkx(edges: list[tuple[str, str, float]]) -> "nx.Graph[str]":
    graph: nx.Graph[str] = nx.Graph()
    for source, target, weight in edges:
        graph.add_nodes_from((source, target))
        if source != target:
            known = graph.get_edge_data(source, target, {"weight": 0})["weight"]
            graph.add_edge(source, target, weight=known + weight)
    return graph


def edges_of(graph: Network) -> dict[tuple[str, str], float]:
    names = graph.names.to_list()
    return {
        (names[low], names[high]): weight
        for low, high, weight in zip(graph.low, graph.high, graph.weight.tolist(), strict=True)
    }


@given(EDGES)
def test_every_edge_is_there_once_with_the_sum_of_its_weights(edges: list[tuple[str, str, float]]) -> None:
    made, wanted = network(frame(edges)), as_networkx(edges)
    assert made.names.to_list() == sorted(wanted)
    found = edges_of(made)
    assert list(found) == sorted(found)
    assert found == {
        (min(one, other), max(one, other)): weight for one, other, weight in wanted.edges(data="weight")
    }
    assert made.degrees.tolist() == [wanted.degree(name) for name in sorted(wanted)]
    assert edges_of(network(frame([(other, one, weight) for one, other, weight in edges[::-1]]))) == found


@given(EDGES, st.lists(st.integers(0, 3), min_size=8, max_size=8), st.sampled_from([0.5, 1.0, 2.0]))
def test_modularity_is_that_of_networkx(
    edges: list[tuple[str, str, float]], clusters: list[int], resolution: float
) -> None:
    made, wanted = network(frame(edges)), as_networkx(edges)
    cluster = np.array([clusters[NODES.index(name)] for name in made.names], dtype=np.int64)
    found = modularity(made, cluster, resolution) if len(cluster) else 0.0
    if not wanted.size("weight"):
        assert found == 0.0
        return
    names = made.names.to_list()
    parts = [{one for one, own in zip(names, cluster, strict=True) if own == number} for number in range(4)]
    assert found == pytest.approx(
        nx.community.modularity(wanted, [part for part in parts if part], resolution=resolution)
    )


@given(EDGES)
def test_the_paper_clusters_the_largest_component(edges: list[tuple[str, str, float]]) -> None:
    made, wanted = network(frame(edges)), as_networkx(edges)
    assert clustered_part(made, "default") is made
    parts = sorted(nx.connected_components(wanted), key=lambda part: (-len(part), min(part)))
    largest = parts[0] if parts else set()
    inside = {ends for ends in edges_of(made) if set(ends) <= largest}
    assert set(edges_of(clustered_part(made, "paper"))) == inside
    chosen = largest_component(made.low, made.high, len(made.names)) if len(made.names) else []
    assert {name for name, is_in in zip(made.names, chosen, strict=True) if is_in} == largest


@pytest.mark.parametrize("weight", [-1e-9, math.nan, math.inf, 1.1e100, None])
def test_a_weight_that_cannot_be_clustered_is_named(weight: float | None) -> None:
    with pytest.raises(GraphragError, match="1 edges cannot be clustered, e.g. 'a'–'b'"):
        network(frame([("b", "c", 1.0), ("a", "b", weight)]))  # type: ignore[list-item]


@pytest.mark.parametrize("ends", [(None, "b"), ("b", None)])
def test_an_edge_without_an_end_is_named(ends: tuple[str, str]) -> None:
    with pytest.raises(GraphragError, match="1 edges cannot"):
        network(frame([(*ends, 1.0), ("a", "b", 1e100)]))


def test_rows_of_relationships_are_edges() -> None:
    rows = pl.DataFrame({"source_id": ["a"], "target_id": ["b"], "weight": [2.0], "more": [0]})
    assert edges_of(network_of(rows)) == {("a", "b"): 2.0}
