import networkx as nx
import numpy as np
import pytest

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.systems.context_leiden.index import betweenness as module
from graphrag_dagster.systems.context_leiden.index import betweenness as sweep
from graphrag_dagster.systems.context_leiden.index.betweenness import betweenness, centrality
from graphrag_dagster.systems.context_leiden.settings import ContextSettings
from tests.support.context_graphs import adjacency_of

GRAPHS = {
    "path": nx.path_graph(40),
    "star": nx.star_graph(30),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 8)),
    "hubs": nx.barabasi_albert_graph(150, 2, seed=1),
    "pieces": nx.disjoint_union_all([nx.cycle_graph(7), nx.complete_graph(5), nx.empty_graph(3)]),
    **{f"random {seed}": nx.gnm_random_graph(60, 40 + 15 * seed, seed=seed) for seed in range(8)},
}


def by_networkx(graph: "nx.Graph[int]") -> list[float]:
    found = nx.betweenness_centrality(graph, normalized=False)
    return [found[node] for node in range(graph.number_of_nodes())]


@pytest.mark.parametrize("alone", [0, 12, 10**9])
@pytest.mark.parametrize("name", GRAPHS)
def test_it_is_that_of_networkx_however_a_level_is_gone_through(
    name: str, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "_ALONE", alone)
    assert np.allclose(betweenness(adjacency_of(GRAPHS[name])), by_networkx(GRAPHS[name]))


@pytest.mark.parametrize("name", GRAPHS)
def test_from_all_nodes_the_estimate_is_exact(name: str) -> None:
    graph = adjacency_of(GRAPHS[name])
    exact = betweenness(graph)
    assert betweenness(graph, pivots=graph.nodes, seed=9).tolist() == exact.tolist()
    assert betweenness(graph, pivots=graph.nodes + 5).tolist() == exact.tolist()


def test_it_is_the_same_from_few_sources_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = adjacency_of(GRAPHS["hubs"])
    whole = betweenness(graph)
    monkeypatch.setattr(module, "_PAIRS", 1000)
    assert np.allclose(betweenness(graph), whole)


def test_the_estimate_is_of_the_right_size_and_follows_its_seed() -> None:
    graph = adjacency_of(nx.barabasi_albert_graph(600, 2, seed=2))
    exact = betweenness(graph)
    drawn = [betweenness(graph, pivots=150, seed=seed) for seed in range(20)]
    assert drawn[3].tolist() == betweenness(graph, pivots=150, seed=3).tolist()
    assert drawn[3].tolist() != drawn[4].tolist()
    hubs = np.argsort(-exact)[:10]
    assert np.allclose(np.mean(drawn, axis=0)[hubs], exact[hubs], rtol=0.1)


def test_the_largest_or_all_pairs_of_others_are_one() -> None:
    path = adjacency_of(nx.path_graph(5))
    assert centrality(path, ContextSettings()).tolist() == [0, 0.75, 1, 0.75, 0]
    assert centrality(path, ContextSettings(centrality="textbook")).tolist() == [0, 0.5, 4 / 6, 0.5, 0]
    sampled = centrality(path, ContextSettings(exact_up_to=4, pivots=2, seed=1))
    assert sampled.max() == 1
    assert sampled.tolist() != [0, 0.75, 1, 0.75, 0]


@pytest.mark.parametrize("nodes", [0, 1, 2, 5])
@pytest.mark.parametrize("how", ["max", "textbook"])
def test_without_paths_through_a_node_none_is_central(nodes: int, how: str) -> None:
    graph = adjacency_of(nx.complete_graph(nodes))
    assert centrality(graph, ContextSettings(centrality=how)).tolist() == [0] * nodes
    assert centrality(adjacency_of(nx.empty_graph(nodes)), ContextSettings()).tolist() == [0] * nodes


def test_more_paths_than_can_be_counted_are_an_error() -> None:
    rows = nx.Graph()
    for step in range(2100):
        rows.add_edges_from((3 * step + end, 3 * step + side) for end in (0, 3) for side in (1, 2))
    with pytest.raises(GraphragError, match="shortest paths"):
        betweenness(adjacency_of(rows), pivots=1)
