import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.hierarchical_leiden import (
    Hierarchy,
    check_partition,
    hierarchical_communities,
    levels,
)
from graphrag_dagster.kernel.graph.native_leiden import LeidenOptions
from graphrag_dagster.systems.graphrag.index.levels_above import (
    CHILDREN,
    with_levels_above,
    without_levels_above,
)

Edge = tuple[str, str, float]


def tables_of(edges: list[Edge], alone: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    names = sorted({name for one, other, _ in edges for name in (one, other)})
    names += [f"alone{number}" for number in range(alone)]
    relationships = pl.DataFrame(
        [(min(one, other), max(one, other), weight) for one, other, weight in edges],
        schema={"source_id": pl.String, "target_id": pl.String, "weight": pl.Float64},
        orient="row",
    )
    return pl.DataFrame({"entity_id": names}, schema={"entity_id": pl.String}), relationships


def triangles(groups: int, joined: list[tuple[int, int, float]]) -> list[Edge]:
    """Triangles of heavy edges, which Leiden does not join, and lighter edges between them."""
    inside = [
        (f"t{group:05d}{one}", f"t{group:05d}{other}", 50.0)
        for group in range(groups)
        for one, other in ("ab", "bc", "ac")
    ]
    return inside + [(f"t{one:05d}a", f"t{other:05d}a", weight) for one, other, weight in joined]


def built(
    edges: list[Edge], roots: int | None, previous: Hierarchy | None = None, **given: float
) -> tuple[Hierarchy, Hierarchy]:
    entities, relationships = tables_of(edges, alone=2)
    options = LeidenOptions(**given)
    base = hierarchical_communities(
        relationships.rename({"source_id": "source", "target_id": "target"}), options
    )
    above = with_levels_above(base, entities, relationships, roots=roots, options=options, previous=previous)
    return base, above


def top(hierarchy: Hierarchy) -> pl.DataFrame:
    return hierarchy.communities.filter(pl.col("level") == pl.col("level").min())


def members_of(hierarchy: Hierarchy) -> dict[str, frozenset[str]]:
    rows = hierarchy.members.group_by("community_id").agg("entity_id")
    return {community: frozenset(names) for community, names in rows.iter_rows()}


def sound(base: Hierarchy, above: Hierarchy, roots: int) -> None:
    """The bound holds, every level is a partition, and every parent is all of its children."""
    communities = above.communities
    assert len(top(above)) <= max(roots, 1)
    of_levels = levels(communities, above.members)
    assert check_partition(of_levels, above.members) == []
    assert communities["community_id"].is_unique().all()
    assert communities["human_readable_id"].is_unique().all()
    members = members_of(above)
    children = communities.filter(pl.col("level") <= 0).group_by("parent_id").agg("community_id")
    for parent, below in children.iter_rows():
        if parent is not None:
            assert frozenset().union(*(members[child] for child in below)) == members[parent]
    lowest = communities["level"].min()
    assert communities.filter(pl.col("parent_id").is_null())["level"].unique().to_list() == [lowest]
    unchanged = without_levels_above(above)
    assert unchanged.communities.equals(base.communities)
    assert unchanged.members.equals(base.members)


def test_few_communities_have_nothing_above_them() -> None:
    edges = triangles(5, [])
    base, same = built(edges, 5)
    assert same is base
    assert built(edges, None)[1].communities.equals(base.communities)
    _, four = built(edges, 4)
    assert four.communities["level"].min() == -1


def test_pairs_are_joined_by_what_is_between_them() -> None:
    edges = triangles(6, [(0, 1, 3.0), (2, 3, 3.0), (4, 5, 3.0), (1, 2, 0.1), (3, 4, 0.1)])
    base, above = built(edges, 3)
    sound(base, above, 3)
    joined = {frozenset(name[:6] for name in members_of(above)[one]) for one in top(above)["community_id"]}
    assert joined == {
        frozenset({"t00000", "t00001"}),
        frozenset({"t00002", "t00003"}),
        frozenset({"t00004", "t00005"}),
    }
    assert top(above)["internal_edges"].to_list() == [7, 7, 7]
    assert top(above)["is_leaf"].to_list() == [False] * 3


def test_communities_without_edges_are_grouped_by_a_hash_that_nests() -> None:
    base, above = built(triangles(1000, []), 8)
    sound(base, above, 8)
    # 1000 // 20 = 50 → 5 bits; 32 // 20 = 1 → none.
    counted = dict(above.communities.group_by("level").len().iter_rows())
    assert {level: counted[level] for level in (-2, -1, 0)} == {-2: 1, -1: 32, 0: 1000}
    prefix = {name: int(stable_id(name)[:16], 16) >> 59 for name in (f"t{one:05d}a" for one in range(1000))}
    groups = above.members.filter(pl.col("level") == -1, pl.col("entity_id").str.ends_with("a"))
    for (_,), rows in groups.group_by("community_id"):
        assert len({prefix[name] for name in rows["entity_id"]}) == 1


def test_a_new_document_changes_one_group() -> None:
    _, before = built(triangles(1000, []), 8)
    _, after = built(triangles(1001, []), 8, before)
    old, new = (
        {frozenset(members_of(one)[name]) for name in one.communities.filter(level=-1)["community_id"]}
        for one in (before, after)
    )
    assert len(old - new) == 1
    assert set(before.communities.filter(level=-1)["community_id"]) == set(
        after.communities.filter(level=-1)["community_id"]
    )


def test_a_chain_keeps_few_children_and_what_it_was() -> None:
    chain = [(one, one + 1, 1.0) for one in range(299)]
    base, above = built(triangles(300, chain), 4)
    sound(base, above, 4)
    children = above.communities.filter(pl.col("level") <= 0).group_by("parent_id").len()
    assert children.drop_nulls("parent_id")["len"].max() < CHILDREN
    _, grown = built([*triangles(301, chain), ("t00300a", "t00299a", 1.0)], 4, above)
    ids = [set(one.communities.filter(level=-1)["community_id"]) for one in (above, grown)]
    assert ids[0] == ids[1]


def test_a_resolution_at_which_leiden_joins_nothing_is_bounded_too() -> None:
    edges = triangles(60, [(one, other, 0.01) for one in range(60) for other in range(one)])
    base, above = built(edges, 2, resolution=300.0)
    sound(base, above, 2)


@pytest.mark.parametrize("roots", [1, 2])
def test_one_community_and_none(roots: int) -> None:
    base, same = built(triangles(1, []), roots)
    assert same is base
    nothing = hierarchical_communities(
        pl.DataFrame(schema={"source": pl.String, "target": pl.String, "weight": pl.Float64})
    )
    entities, relationships = tables_of([], alone=3)
    assert with_levels_above(nothing, entities, relationships, roots=1, options=LeidenOptions()) is nothing


@given(
    st.integers(2, 60),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59), st.sampled_from([0.0, 0.5, 1.0, 4.0]))),
    st.integers(1, 12),
)
def test_the_bound_holds_whatever_the_graph(
    groups: int, joined: list[tuple[int, int, float]], roots: int
) -> None:
    between = {(min(a, b), max(a, b)): w for a, b, w in joined if a != b and max(a, b) < groups}
    edges = triangles(groups, [(a, b, w) for (a, b), w in between.items()])
    base, above = built(edges, roots)
    sound(base, above, roots)
    # The order of rows decides nothing.
    _, again = built(edges[::-1], roots)
    assert again.communities.equals(above.communities)
    assert again.members.equals(above.members)
    base, warm = built(edges, roots, above)
    sound(base, warm, roots)
    assert warm.communities.equals(above.communities)
