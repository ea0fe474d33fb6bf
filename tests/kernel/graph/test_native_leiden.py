"""A graph that is too large to be clustered at once is clustered community by community, and no worse."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.graph import native_leiden
from graphrag_dagster.kernel.graph.hierarchical_leiden import as_hierarchy, check_partition, levels
from graphrag_dagster.kernel.graph.native_leiden import LeidenOptions, run_native_leiden
from graphrag_dagster.kernel.graph.undirected_graph import Network, modularity, network

Edge = tuple[int, int, float]


def of(edges: list[Edge]) -> Network:
    return network(pl.DataFrame(edges, schema=["source", "target", "weight"], orient="row"))


def clique(first: int, size: int) -> list[Edge]:
    return [(one, other, 1.0) for one, other in itertools.combinations(range(first, first + size), 2)]


def planted(groups: int, size: int = 40, seed: int = 0) -> Network:
    """Groups of groups: of ten edges six inside a quarter of a group, three inside it, one anywhere."""
    rng = np.random.default_rng(seed)
    nodes, count = groups * size, groups * size * 5
    source, reach = (
        rng.integers(0, nodes, count),
        rng.choice([size // 4, size, nodes], count, p=[0.6, 0.3, 0.1]),
    )
    target = source // reach * reach + rng.integers(0, nodes, count) % reach
    weight = rng.integers(1, 6, count).astype(float)
    return network(pl.DataFrame({"source": source, "target": target, "weight": weight}))


def deepest(
    graph: Network, memberships: pl.DataFrame, level: int
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """The deepest cluster of each node down to a level."""
    last = memberships.filter(pl.col("level") <= level).sort("node", "level").group_by("node").last()
    cluster = np.zeros(len(graph.names), dtype=np.int64)
    cluster[last["node"].to_numpy()] = last["cluster"].rank("dense").to_numpy()
    return cluster


def parts(memberships: pl.DataFrame, level: int) -> list[list[int]]:
    of_level = memberships.filter(pl.col("level") == level).sort("node")
    return sorted(of_level.group_by("cluster").agg("node")["node"].to_list())


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=120),
    st.integers(2, 12),
    st.integers(0, 2**64),
)
def test_level_0_is_that_of_the_graph_at_once_and_every_level_is_a_partition(
    rows: list[tuple[int, int, int]], limit: int, seed: int
) -> None:
    graph = of([(one, other, float(weight)) for one, other, weight in rows])
    # Nodes without an edge, as outside of the largest component.
    graph = graph.only(graph.weight != 5)
    if not len(graph.low):
        return
    options = LeidenOptions(max_cluster_size=limit, seed=seed)
    at_once, apart = run_native_leiden(graph, options), run_native_leiden(graph, options, most_at_once=0)
    roots = [one.filter(pl.col("level") == 0).sort("node") for one in (at_once, apart)]
    assert roots[0].equals(roots[1])
    named = Network(graph.names.cast(pl.String), graph.low, graph.high, graph.weight)
    hierarchy = as_hierarchy(named, apart)
    assert check_partition(levels(hierarchy.communities, hierarchy.members), hierarchy.members) == []
    split = hierarchy.communities.filter(~pl.col("is_leaf"))
    assert split.is_empty() or split["size"].min() >= limit


def test_a_community_is_split_as_a_graph_of_its_own() -> None:
    # Two cliques of five with six edges between them are one community of ten beside denser cliques of nine.
    bridges = [(0, 5, 1.0), (1, 6, 1.0), (2, 7, 1.0), (3, 8, 1.0), (0, 6, 1.0), (0, 7, 1.0)]
    others = [edge for first in range(10, 64, 9) for edge in clique(first, 9)]
    found = run_native_leiden(
        of(clique(0, 5) + clique(5, 5) + bridges + others), LeidenOptions(), most_at_once=0
    )
    assert parts(found, 0) == [
        list(range(10)),
        *(list(range(first, first + 9)) for first in range(10, 64, 9)),
    ]
    assert parts(found, 1) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    split = found.filter(pl.col("node") == 0).sort("level")
    assert split["parent"].to_list() == [None, split["cluster"][0]]
    assert found["level"].max() == 1


@pytest.mark.parametrize("in_process", [0, 10**6])
def test_stars_and_cliques_end(monkeypatch: pytest.MonkeyPatch, in_process: int) -> None:
    monkeypatch.setattr(native_leiden, "_MOST_IN_PROCESS", in_process)
    star = [(0, leaf, 1.0) for leaf in range(1, 60)]
    one = run_native_leiden(of(star), LeidenOptions(), most_at_once=0)
    assert parts(one, 0) == [list(range(60))]
    assert one["level"].max() == 0
    both = run_native_leiden(of(star + clique(60, 12)), LeidenOptions(), most_at_once=0)
    assert parts(both, 0) == [list(range(60)), list(range(60, 72))]
    assert both["level"].max() == 0


def test_weights_decide() -> None:
    ring = [(node, (node + 1) % 8, 9.0 if node % 2 else 1.0) for node in range(8)]
    found = run_native_leiden(of(ring), LeidenOptions(), most_at_once=0)
    assert parts(found, 0) == [[0, 7], [1, 2], [3, 4], [5, 6]]


def test_any_number_of_processes_gives_the_same_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, options = planted(60), LeidenOptions()
    at_once = run_native_leiden(graph, options)
    one = run_native_leiden(graph, options, most_at_once=1000, processes=1)
    monkeypatch.setattr(native_leiden, "_EDGES_OF_TASK", 1000)
    for processes in (1, 2, 3):
        assert run_native_leiden(graph, options, most_at_once=1000, processes=processes).equals(one)
    for level in range(4):
        whole, apart = (modularity(graph, deepest(graph, found, level), 1.0) for found in (at_once, one))
        assert apart >= 0.99 * whole
    # A community that is too large for a process is itself clustered community by community.
    monkeypatch.setattr(native_leiden, "_MOST_IN_PROCESS", 50)
    again = run_native_leiden(graph, options, most_at_once=1000, processes=1)
    assert parts(again, 1) == parts(one, 1)
    assert modularity(graph, deepest(graph, again, 3), 1.0) >= 0.98 * modularity(
        graph, deepest(graph, one, 3), 1.0
    )
