import itertools
import random

import networkx as nx
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
from graphrag_dagster.kernel.graph.undirected_graph import modularity, network
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.index import community_detection
from graphrag_dagster.systems.graphrag.index.community_detection import (
    QUALITY,
    Begun,
    CommunityClustering,
    cluster,
)
from graphrag_dagster.systems.graphrag.tables import CLUSTERING_STATE, COLD_START_EDGES

Edge = tuple[str, str, float]


def relationships(edges: list[Edge]) -> pl.DataFrame:
    rows = {tuple(sorted((one, other))): weight for one, other, weight in edges if one != other}
    return pl.DataFrame(
        [(stable_id(one, other), one, other, weight) for (one, other), weight in sorted(rows.items())],
        schema={
            "relationship_id": pl.String,
            "source_id": pl.String,
            "target_id": pl.String,
            "weight": pl.Float64,
        },
        orient="row",
    )


def cliques(groups: int, size: int = 12) -> list[Edge]:
    """Cliques in a ring, each two joined by one edge."""
    names = [[f"g{group:02d}n{node:02d}" for node in range(size)] for group in range(groups)]
    inside = [(one, other, 1.0) for group in names for one, other in itertools.combinations(group, 2)]
    ring = [(names[group][0], names[(group + 1) % groups][1], 1.0) for group in range(groups)]
    return inside + ring


def islands(seed: int, groups: int = 8, size: int = 30) -> list[Edge]:
    """Random groups with more edges inside than between."""
    rng = random.Random(seed)
    nodes = [f"g{group}n{node:02d}" for group in range(groups) for node in range(size)]
    near = [
        (
            f"g{group}n{rng.randrange(size):02d}",
            f"g{group}n{rng.randrange(size):02d}",
            float(rng.randint(1, 3)),
        )
        for group in range(groups)
        for _ in range(4 * size)
    ]
    return near + [(rng.choice(nodes), rng.choice(nodes), 1.0) for _ in range(groups * size // 4)]


def ids(clustering: CommunityClustering) -> set[str]:
    return set(clustering.hierarchy.communities["community_id"])


def same(one: CommunityClustering, other: CommunityClustering) -> bool:
    return all(
        a.equals(b)
        for a, b in (
            (one.hierarchy.communities, other.hierarchy.communities),
            (one.hierarchy.members, other.hierarchy.members),
            (one.state, other.state),
            (one.cold_start_edges, other.cold_start_edges),
        )
    )


def sound(hierarchy: Hierarchy, edges: pl.DataFrame) -> None:
    """Check what holds of every hierarchy: partitions, nesting, connected communities, the declared tables."""
    communities, members = hierarchy.communities, hierarchy.members
    tables.COMMUNITIES.validated(communities)
    tables.COMMUNITY_MEMBERS.validated(members)
    assert check_partition(levels(communities, members), members) == []
    assert set(members.filter(level=0)["entity_id"]) == set(edges["source_id"]) | set(edges["target_id"])
    assert communities["human_readable_id"].is_unique().all()
    parent = dict(communities.select("community_id", "parent_id").iter_rows())
    inside = {str(name): set(rows["entity_id"]) for (name,), rows in members.group_by("community_id")}
    assert dict(communities.select("community_id", "size").iter_rows()) == {
        k: len(v) for k, v in inside.items()
    }
    graph = nx.Graph(edges.filter(pl.col("weight") > 0).select("source_id", "target_id").rows())
    for name, group in inside.items():
        assert parent[name] is None or group < inside[str(parent[name])]
        assert len(group) == 1 or nx.is_connected(graph.subgraph(group))


def quality(clustering: CommunityClustering, edges: pl.DataFrame) -> float:
    graph = network(edges.select(source="source_id", target="target_id", weight="weight"))
    roots = clustering.hierarchy.members.filter(level=0)
    place = pl.DataFrame({"entity_id": graph.names}).join(roots, on="entity_id", maintain_order="left")
    return modularity(graph, place["community_id"].rank("dense").cast(pl.Int64).to_numpy(), 1.0)


def test_the_first_clustering_is_that_of_a_cold_start() -> None:
    edges = relationships(islands(1))
    made, begun = cluster(edges, None)
    plain = hierarchical_communities(edges.select(source="source_id", target="target_id", weight="weight"))
    assert begun == Begun("cold", "first clustering")
    assert made.hierarchy.communities.equals(plain.communities)
    assert made.hierarchy.members.equals(plain.members)
    CLUSTERING_STATE.validated(made.state)
    assert COLD_START_EDGES.validated(made.cold_start_edges).height == edges.height


def test_an_unchanged_graph_keeps_everything() -> None:
    edges = relationships(islands(1))
    first, _ = cluster(edges, None)
    again, begun = cluster(edges[::-1], first)
    assert begun.how == "kept"
    assert same(again, first)


def test_hashes_are_those_of_the_tables_as_csv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(community_detection, "_ROWS_AT_ONCE", 7)
    edges = relationships(islands(1))
    made, _ = cluster(edges, None)
    communities, members = made.hierarchy.communities, made.hierarchy.members
    assert made.state.select("edges_hash", "communities_hash").row(0) == (
        stable_id(edges.sort("relationship_id").write_csv()),
        stable_id(communities.sort("community_id").write_csv(), members.write_csv()),
    )


def test_a_cold_start_forgets_what_was() -> None:
    before, _ = cluster(relationships(islands(1)), None)
    edges = relationships(islands(1) + cliques(2))
    forced, begun = cluster(edges, before, start="cold")
    assert begun == Begun("cold", "asked for")
    assert same(forced, cluster(edges, None)[0])


def test_a_changed_setting_or_code_starts_cold() -> None:
    edges = relationships(islands(1))
    before, _ = cluster(edges, None)
    for changed in (
        cluster(edges, before, options=LeidenOptions(resolution=2.0)),
        cluster(edges, before, code="another"),
        cluster(edges, before, profile="paper"),
    ):
        assert changed[1] == Begun("cold", "other settings or code")


def test_tables_of_different_runs_are_not_begun_from() -> None:
    edges = relationships(islands(1))
    before, _ = cluster(edges, None)
    other, _ = cluster(relationships(islands(2)), None)
    torn = CommunityClustering(
        Hierarchy(other.hierarchy.communities, before.hierarchy.members),
        before.state,
        before.cold_start_edges,
    )
    made, begun = cluster(edges, torn)
    assert begun.how == "cold"
    assert same(made, before)


def test_new_nodes_join_and_all_communities_keep_ids_and_numbers() -> None:
    base = cliques(6, 8)
    before, _ = cluster(relationships(base), None)
    grown = [*base, ("g00n00", "newcomer", 1.0), ("g00n01", "newcomer", 1.0), ("g00n02", "newcomer", 1.0)]
    edges = relationships(grown)
    made, begun = cluster(edges, before)
    assert begun.how == "warm"
    assert ids(made) == ids(before)
    numbers = ["community_id", "human_readable_id", "parent_id", "level"]
    assert (
        made.hierarchy.communities.select(numbers)
        .sort(numbers)
        .equals(before.hierarchy.communities.select(numbers).sort(numbers))
    )
    assert made.hierarchy.members.filter(entity_id="newcomer").height >= 1
    sound(made.hierarchy, edges)


def test_a_new_topic_becomes_a_community_of_its_own() -> None:
    base = cliques(6)
    before, _ = cluster(relationships(base), None, drift=1)
    topic = [(f"t{one}", f"t{other}", 1.0) for one, other in itertools.combinations(range(8), 2)]
    made, begun = cluster(relationships([*base, *topic, ("t0", "g00n00", 1.0)]), before, drift=1)
    assert begun.how == "warm"
    (new,) = ids(made) - ids(before)
    assert set(made.hierarchy.members.filter(community_id=new)["entity_id"]) == {f"t{n}" for n in range(8)}


def test_a_community_that_falls_apart_is_no_longer_one() -> None:
    halves = [edge for edge in cliques(2, 8) if edge[0][:3] == edge[1][:3]]
    bridges = [(f"g00n{a:02d}", f"g01n{b:02d}", 3.0) for a in range(8) for b in range(8)]
    others = [(f"x{a}", f"x{b}", w) for a, b, w in cliques(12)]
    before, _ = cluster(relationships(halves + bridges + others), None, drift=1)
    edges = relationships(halves + others)
    made, _ = cluster(edges, before, drift=1)
    sound(made.hierarchy, edges)


def test_drift_is_the_share_of_edges_new_or_gone_and_bounds_warm_starts() -> None:
    base = cliques(10)
    before, _ = cluster(relationships(base), None)
    total = relationships(base).height
    edges = relationships([*base[10:], *((f"n{k}", f"n{k + 1}", 1.0) for k in range(10))])
    share = 20 / (total + 10)
    warm, begun = cluster(edges, before, drift=share + 0.001)
    assert begun.how == "warm"
    assert warm.state["changed"][0] == pytest.approx(share)
    assert warm.cold_start_edges.height == total - 10
    cold, begun = cluster(edges, before, drift=share)
    assert begun.how == "cold"
    assert "edges changed since the last cold start" in begun.why
    assert cold.state["changed"][0] == 0


def test_drift_adds_up_over_warm_starts() -> None:
    base = cliques(10)
    clustering, _ = cluster(relationships(base), None)
    starts = []
    for step in range(1, 8):
        grown = [*base, *((f"n{k}", f"n{k + 1}", 1.0) for k in range(30 * step))]
        clustering, begun = cluster(relationships(grown), clustering, drift=0.2)
        starts.append(begun.how)
    assert starts.index("cold") == 5
    assert starts[6] == "warm"


def test_no_drift_is_always_cold_even_without_a_change() -> None:
    edges = relationships(islands(3))
    before, _ = cluster(edges, None)
    made, begun = cluster(edges, before, drift=0)
    assert begun.how == "cold"
    assert same(made, before)


def test_nothing_is_kept_of_an_edge_that_is_gone() -> None:
    base = cliques(10)
    before, _ = cluster(relationships(base), None)
    after, _ = cluster(relationships(base[5:]), before)
    gone = set(relationships(base)["relationship_id"]) - set(relationships(base[5:])["relationship_id"])
    assert len(gone) == 5
    assert not gone & set(after.cold_start_edges["relationship_id"])


def test_a_graph_without_edges_has_no_communities_before_and_after() -> None:
    nothing, begun = cluster(relationships([]), None)
    assert begun.how == "cold"
    assert nothing.hierarchy.communities.is_empty()
    assert cluster(relationships([]), nothing)[1].how == "kept"
    full, _ = cluster(relationships(islands(1)), nothing)
    assert same(cluster(relationships([]), full, drift=1)[0], nothing)


@given(st.integers(0, 50), st.integers(0, 50), st.sampled_from([0.02, 0.1, 0.3]))
def test_a_warm_start_is_sound_and_nearly_as_good(seed: int, cut: int, share: float) -> None:
    edges = islands(seed)
    before, _ = cluster(relationships(edges), None)
    rng = random.Random(cut)
    left = [edge for edge in edges if rng.random() > share / 2]
    new = [(rng.choice(edges)[0], f"new{rng.randrange(40)}", 1.0) for _ in range(int(len(edges) * share / 2))]
    changed = relationships(left + new)
    made, begun = cluster(changed, before, drift=1)
    sound(made.hierarchy, changed)
    best = cluster(changed, None)[0]
    assert quality(made, changed) == pytest.approx(made.state["modularity"][0])
    assert quality(made, changed) >= QUALITY * quality(best, changed)
    again, _ = cluster(changed.sample(fraction=1, shuffle=True, seed=1), before, drift=1)
    assert begun.how in {"warm", "cold"}
    assert same(again, made)
