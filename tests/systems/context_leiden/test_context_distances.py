import networkx as nx
import numpy as np
import pytest

from graphrag_dagster.systems.context_leiden.index import community_distances as module
from graphrag_dagster.systems.context_leiden.index.community_distances import distances
from tests.support.context_graphs import adjacency_of


def by_search(graph: "nx.Graph[int]", labels: np.ndarray, node: int, target: int, most: int) -> int:
    reached = nx.single_source_shortest_path_length(graph, node, cutoff=most)
    return min((hops for other, hops in reached.items() if labels[other] == target), default=-1)


@pytest.mark.parametrize("seed", range(200))
def test_distances_are_those_of_a_search_from_each_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 70))
    graph = nx.gnm_random_graph(nodes, int(nodes * rng.uniform(0.3, 1.5)), seed=seed)
    labels = rng.integers(-1, rng.integers(1, 90), nodes)
    pairs = [(n, c) for n in range(nodes) for c in range(labels.max() + 1) if labels[n] != c]
    chosen = [pairs[place] for place in rng.permutation(len(pairs))[:150]]
    most = int(rng.integers(1, 8))
    nodes_of, targets = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    found = distances(adjacency_of(graph), labels, nodes_of, targets, most)
    assert found.tolist() == [by_search(graph, labels, n, c, most) for n, c in chosen]


@pytest.mark.parametrize("limit", ["_WORDS", "_AT_ONCE"])
def test_many_communities_and_neighbours_are_looked_at_in_parts(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = nx.barabasi_albert_graph(400, 2, seed=4)
    labels = np.arange(400) // 2
    nodes = np.arange(400)
    targets = (labels + 77) % 200
    whole = distances(adjacency_of(graph), labels, nodes, targets, 6)
    monkeypatch.setattr(module, limit, 500)
    assert distances(adjacency_of(graph), labels, nodes, targets, 6).tolist() == whole.tolist()
    assert set(whole.tolist()) >= {1, 2, 3, 4}


def test_farther_than_is_looked_at_is_unreachable() -> None:
    path = adjacency_of(nx.path_graph(9))
    labels = np.array([0, 1, 1, 1, 1, 1, 1, 1, 2])
    one, far = np.array([0]), np.array([2])
    assert [int(distances(path, labels, one, far, most)[0]) for most in (6, 7, 8)] == [-1, -1, 8]


def test_no_pairs_have_no_distances() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert not len(distances(adjacency_of(nx.path_graph(3)), np.zeros(3, dtype=np.int64), none, none, 6))
