import itertools

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.hierarchical_leiden import (
    Hierarchy,
    check_partition,
    hierarchical_communities,
    levels,
)
from graphrag_dagster.kernel.graph.native_leiden import LeidenOptions
from graphrag_dagster.kernel.graph.undirected_graph import connected_components
from graphrag_dagster.kernel.tables import core_tables as tables


def graph(*edges: tuple[str, str] | tuple[str, str, float]) -> pl.DataFrame:
    rows = [(*edge, 1.0) if len(edge) == 2 else edge for edge in edges]
    schema = {"source": pl.String, "target": pl.String, "weight": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def clique(prefix: str, size: int) -> list[tuple[str, str]]:
    return list(itertools.combinations([f"{prefix}{i:02d}" for i in range(size)], 2))


def members_of(hierarchy: Hierarchy) -> dict[str, set[str]]:
    return {str(key): set(rows["entity_id"]) for (key,), rows in hierarchy.members.group_by("community_id")}


def bridged_pair() -> list[tuple[str, str]]:
    """Two cliques of five with six edges between them: one community of ten next to denser ones."""
    bridges = [("a00", "b00"), ("a01", "b01"), ("a02", "b02"), ("a03", "b03"), ("a00", "b01"), ("a00", "b02")]
    others = [edge for prefix in "cdefgh" for edge in clique(prefix, 9)]
    return clique("a", 5) + clique("b", 5) + bridges + others


random_edges = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5)), min_size=1, max_size=120
).map(lambda rows: graph(*[(f"n{u}", f"n{v}", float(w)) for u, v, w in rows]))


@pytest.mark.parametrize(("limit", "split"), [(9, True), (10, True), (11, False)])
def test_a_community_of_exactly_the_limit_is_split(limit: int, split: bool) -> None:
    found = hierarchical_communities(graph(*bridged_pair()), LeidenOptions(limit))
    ten = found.communities.filter(pl.col("size") == 10)
    assert ten["is_leaf"].to_list() == [not split]
    children = found.communities.filter(pl.col("parent_id") == ten["community_id"][0])
    assert children["size"].to_list() == ([5, 5] if split else [])


def test_what_cannot_be_split_stays_a_leaf_and_does_not_reappear() -> None:
    found = hierarchical_communities(graph(*clique("a", 12)))
    assert found.communities.select("level", "size", "is_leaf", "internal_edges").rows() == [
        (0, 12, True, 66)
    ]
    assert len(found.members) == 12


def test_weights_decide() -> None:
    ring = [(f"n{node}", f"n{(node + 1) % 8}", 9.0 if node % 2 else 1.0) for node in range(8)]
    found = members_of(hierarchical_communities(graph(*ring), LeidenOptions(9)))
    assert sorted(map(sorted, found.values())) == [["n0", "n7"], ["n1", "n2"], ["n3", "n4"], ["n5", "n6"]]


def test_rows_satisfy_their_tables_and_say_what_they_mean() -> None:
    edges = graph(*bridged_pair())
    found = hierarchical_communities(edges)
    assert found.communities.schema == tables.COMMUNITIES.empty().schema
    assert found.members.schema == tables.COMMUNITY_MEMBERS.empty().schema
    tables.COMMUNITIES.validated(found.communities)
    tables.COMMUNITY_MEMBERS.validated(found.members)
    whole = nx.Graph(edges.select("source", "target").rows())
    members = members_of(found)
    for row in found.communities.iter_rows(named=True):
        inside = members[row["community_id"]]
        assert row["community_id"] == stable_id("community", row["level"], *sorted(inside))
        assert row["size"] == len(inside)
        assert row["internal_edges"] == whole.subgraph(inside).number_of_edges()
        assert row["summed_degree"] == sum(degree for _, degree in whole.degree(inside))
    order = found.communities.select("level", -pl.col("size"), "community_id").rows()
    assert order == sorted(order)
    assert found.communities["human_readable_id"].to_list() == list(range(len(order)))


def test_direction_repeats_and_loops_do_not_matter() -> None:
    once = hierarchical_communities(graph(("a", "b", 3.0), ("b", "c", 1.0), ("c", "d", 2.0)))
    again = hierarchical_communities(
        graph(("d", "c", 2.0), ("b", "a", 1.0), ("c", "c", 9.0), ("a", "b", 2.0), ("c", "b", 1.0), ("z", "z"))
    )
    assert once.communities.equals(again.communities)
    assert once.members.equals(again.members)


def test_the_paper_takes_the_largest_component_and_of_equals_the_one_of_the_smallest_name() -> None:
    edges = graph(*clique("z", 4), *clique("m", 4), *clique("b", 3))
    assert set(hierarchical_communities(edges, profile="paper").members["entity_id"]) == {
        "m00",
        "m01",
        "m02",
        "m03",
    }
    assert hierarchical_communities(edges).members["entity_id"].n_unique() == 11


def test_no_edges_no_communities() -> None:
    for profile in ("default", "paper"):
        for edges in (graph(), graph(("a", "a", 2.0))):
            found = hierarchical_communities(edges, profile=profile)
            assert len(found.communities) == len(found.members) == 0
            tables.COMMUNITIES.validated(found.communities)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), None])
def test_a_weight_that_is_none_is_refused_with_its_edge(weight: float) -> None:
    with pytest.raises(GraphragError, match=r"'HARBOUR'–'MILL'.*weights must be numbers"):
        hierarchical_communities(graph(("a", "b", 1.0), ("HARBOUR", "MILL", weight)))


@given(random_edges, st.integers(2, 12), st.sampled_from(["default", "paper"]), st.randoms())
def test_a_hierarchy_of_partitions_whatever_the_order(edges, limit, profile, random) -> None:
    found = hierarchical_communities(edges, LeidenOptions(limit), profile=profile)
    rows = [(v, u, w) if random.random() < 0.5 else (u, v, w) for u, v, w in edges.rows()]
    random.shuffle(rows)
    again = hierarchical_communities(graph(*rows), LeidenOptions(limit), profile=profile)
    assert found.communities.equals(again.communities)
    assert found.members.equals(again.members)
    members = members_of(found)
    for row in found.communities.iter_rows(named=True):
        children = found.communities.filter(pl.col("parent_id") == row["community_id"])["community_id"]
        assert row["is_leaf"] == children.is_empty()
        if not row["is_leaf"]:
            assert row["size"] >= limit
            assert sorted(itertools.chain(*(members[child] for child in children))) == sorted(
                members[row["community_id"]]
            )
    of_levels = levels(found.communities, found.members)
    assert check_partition(of_levels, found.members) == []
    tables.COMMUNITY_LEVELS.validated(of_levels)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=60))
def test_components_agree_with_networkx(pairs: list[tuple[int, int]]) -> None:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    whole = nx.Graph(pairs)
    whole.add_nodes_from(range(41))
    expected = {node: min(part) for part in nx.connected_components(whole) for node in part}
    assert dict(enumerate(connected_components(ends[:, 0], ends[:, 1], 41).tolist())) == expected
