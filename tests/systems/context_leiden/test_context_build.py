import numpy as np
import polars as pl
import pytest

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_ACCOUNT, CONTEXT_NODES
from graphrag_dagster.systems.context_leiden.index import context_node_selection as build
from graphrag_dagster.systems.context_leiden.index.context_node_selection import budgets, build_context
from graphrag_dagster.systems.context_leiden.index.node_embeddings import NodeVectors
from graphrag_dagster.systems.context_leiden.settings import ContextSettings
from graphrag_dagster.systems.context_leiden.tables import CONTEXT_CANDIDATES, OUTCOMES
from tests.support.context_graphs import (
    FIVE,
    Case,
    by_definition,
    community_levels,
    node_vectors,
    random_case,
    relationships,
)

OPTIONS = [
    ContextSettings(),
    ContextSettings(include_self=False, max_hops=2, alpha=2.0),
    ContextSettings(penalty="subtract", gamma=0.2, unreachable="far", lambda_max=3),
    ContextSettings(centrality="textbook", min_sim=0.25, unreachable="far", include_self=False),
    ContextSettings(min_sim=-1, max_hops=1, lambda_max=1),
]


def built(case: Case, options: ContextSettings | None = None) -> build.ContextTables:
    found = build_context(case.relationships, case.levels, case.node_vectors, options or ContextSettings())
    assert CONTEXT_CANDIDATES.validated(found.candidates).equals(found.candidates)
    CONTEXT_NODES.validated(found.nodes)
    assert CONTEXT_ACCOUNT.validated(found.account).equals(found.account)
    return found


def chosen(case: Case, options: ContextSettings | None = None) -> set[tuple[str, str]]:
    return set(built(case, options).nodes.select("entity_id", "community_id").rows())


def test_the_example_of_five_nodes() -> None:
    found = built(FIVE)
    (row,) = found.candidates.rows(named=True)
    assert row == {
        "level": 0,
        "entity_id": "e",
        "home_id": "2",
        "community_id": "1",
        "similarity": 1.0,
        "home_similarity": pytest.approx(1 / 3),
        "distance": 3,
        "betweenness": 0.0,
        "score": 0.25,
        "penalised_score": 0.25,
        "rank": 1,
        "outcome": "taken",
    }
    assert found.nodes.select("community_id", "entity_id", "home_id", "rank", "score").rows() == [
        ("1", "e", "2", 1, 0.25)
    ]
    assert found.account.row(0, named=True) == {
        "level": 0,
        "embedding": "given",
        "communities": 2,
        "nodes": 5,
        "without_vector": 0,
        "misaligned": 1,
        "dissimilar": 0,
        "unreachable": 0,
        "penalised": 0,
        "over_budget": 0,
        "taken": 1,
    }
    without = built(FIVE, ContextSettings(include_self=False))
    assert without.candidates.filter(entity_id="e")["home_similarity"].to_list() == [0]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_rows_are_those_of_the_definition(options: ContextSettings) -> None:
    for seed in range(OPTIONS.index(options), 200, len(OPTIONS)):
        check_by_definition(random_case(seed), options)


def check_by_definition(case: Case, options: ContextSettings) -> None:
    expected = by_definition(case, options)
    rows = {row["entity_id"]: row for row in built(case, options).candidates.iter_rows(named=True)}
    assert set(rows) == set(expected)
    for node, one in expected.items():
        row = rows[node]
        assert (row["community_id"], row["home_id"]) == (one.target, case.communities[node])
        assert (row["distance"], row["rank"], row["outcome"]) == (one.distance, one.rank, one.outcome)
        assert np.allclose(
            [row[key] for key in ("similarity", "home_similarity", "betweenness")],
            [one.similarity, one.home_similarity, one.betweenness],
            atol=1e-9,
        )
        assert np.allclose([row["score"], row["penalised_score"]], [one.score, one.penalised], atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_a_node_is_context_of_one_community_at_most_and_never_of_its_own(seed: int) -> None:
    case = random_case(seed, nodes=150)
    before = case.levels
    options = ContextSettings(lambda_max=3)
    found = built(case, options)
    assert case.levels.equals(before)
    assert not found.nodes["entity_id"].is_duplicated().any()
    assert (found.nodes["home_id"] != found.nodes["community_id"]).all()
    taken = dict(found.nodes.group_by("community_id").len().rows())
    rivals = found.candidates.filter(pl.col("penalised_score") > 0).group_by("community_id").len()
    for community, count in rivals.rows():
        budget = int(budgets(np.array([count]), options)[0])
        assert taken.get(community, 0) == budget <= min(3, count)
    account = found.account.row(0, named=True)
    assert account["misaligned"] == sum(account[outcome] for outcome in OUTCOMES)
    for outcome in OUTCOMES:
        assert account[outcome] == len(found.candidates.filter(outcome=outcome))


@pytest.mark.parametrize("seed", range(20))
def test_other_ids_and_turned_vectors_choose_the_same(seed: int) -> None:
    case = random_case(seed, nodes=120)
    rng = np.random.default_rng(seed)
    expected = chosen(case)
    names = dict(zip(case.communities, rng.permutation(list(case.communities)).tolist(), strict=True))
    assert chosen(case.renamed(names)) == {(names[node], community) for node, community in expected}
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    turned = {node: (np.array(vector) @ turn).tolist() for node, vector in case.vectors.items()}
    assert chosen(Case(case.edges, case.communities, turned)) == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    case = random_case(seed)
    found = built(case)
    rows = case.relationships.sample(fraction=1, shuffle=True, seed=seed)
    again = build_context(
        rows.select("weight", source_id="target_id", target_id="source_id"),
        case.levels.sample(fraction=1, shuffle=True, seed=seed),
        case.node_vectors,
        ContextSettings(),
    )
    assert again.candidates.equals(found.candidates)
    assert again.nodes.equals(found.nodes)
    assert again.account.equals(found.account)


def test_a_candidate_in_another_component_is_dropped_and_does_not_count() -> None:
    case = Case(
        [("a", "b"), ("c", "d"), ("d", "e"), ("b", "f"), ("f", "g")],
        dict(zip("abcdefg", "1122233", strict=True)),
        {**{node: [1, 0] for node in "abe"}, **{node: [0, 1] for node in "cd"}, "f": [5, 0], "g": [0, -1]},
    )
    found = built(case)
    rows = {row["entity_id"]: row for row in found.candidates.iter_rows(named=True)}
    assert (rows["e"]["outcome"], rows["e"]["distance"], rows["e"]["score"]) == ("unreachable", None, 0)
    assert (rows["f"]["outcome"], rows["f"]["distance"], rows["f"]["rank"]) == ("taken", 1, 1)
    assert rows["f"]["score"] == pytest.approx(rows["f"]["similarity"] ** 2 / 2)


def test_levels_with_the_same_partition_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(5)
    coarse = dict.fromkeys(case.communities, "all")
    partitions = [coarse, case.communities, case.communities, case.communities]
    calls = []
    real = build.context_leiden
    monkeypatch.setattr(build, "context_leiden", lambda *given: calls.append(1) or real(*given))
    found = build_context(
        case.relationships, community_levels(partitions), case.node_vectors, ContextSettings()
    )
    assert len(calls) == 2
    assert found.account["level"].to_list() == [0, 1, 2, 3]
    assert found.account["misaligned"][0] == 0 < found.account["misaligned"][1]
    rows = [found.candidates.filter(level=level).drop("level") for level in (1, 2, 3)]
    assert rows[0].equals(rows[1])
    assert rows[0].equals(rows[2])


def test_betweenness_is_that_of_the_whole_graph_and_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = build.centrality
    monkeypatch.setattr(build, "centrality", lambda *given: calls.append(given[0].nodes) or real(*given))
    inside = {node: community for node, community in FIVE.communities.items() if node != "b"}
    build_context(
        FIVE.relationships, community_levels([inside, FIVE.communities]), FIVE.node_vectors, ContextSettings()
    )
    assert calls == [5]


def test_without_anything_there_are_no_rows() -> None:
    empty = Case([], {}, {})
    found = built(empty)
    assert not len(found.candidates) + len(found.nodes) + len(found.account)
    edges_only = build_context(FIVE.relationships, community_levels([]), FIVE.node_vectors, ContextSettings())
    assert not len(edges_only.account)


@pytest.mark.parametrize(
    ("communities", "vectors"),
    [
        ({"a": "1"}, {"a": [1.0]}),
        ({"a": "1", "b": "1"}, {"a": [1.0, 0.0], "b": [0.0, 1.0]}),
        ({"a": "1", "b": "2", "c": "3"}, {"a": [2.0, 1.0], "b": [2.0, 1.0], "c": [4.0, 2.0]}),
        ({"a": "1", "b": "2", "c": "2"}, {"a": [0.0], "b": [0.0], "c": [0.0]}),
        ({"a": "1", "b": "2", "c": "2"}, {}),
    ],
)
@pytest.mark.parametrize("include_self", [True, False])
def test_nothing_is_misaligned_where_nothing_differs(
    communities: dict[str, str], vectors: dict[str, list[float]], include_self: bool
) -> None:
    options = ContextSettings(include_self=include_self)
    found = built(Case([("a", "b")], communities, vectors), options)
    if len(set(communities.values())) == 3 and not include_self:
        # Each alone, and its own similarity is 0: the others are more so.
        assert found.account["taken"].to_list() == [2]
        return
    assert not len(found.candidates)
    account = found.account.row(0, named=True)
    assert account["nodes"] == len(communities)
    assert account["without_vector"] == (
        0 if any(any(vector) for vector in vectors.values()) else len(communities)
    )


def test_a_hundred_thousand_communities_of_one() -> None:
    count = 100_000
    names = [f"{place:06d}" for place in range(count)]
    levels = pl.DataFrame(
        {"level": pl.Series([0] * count, dtype=pl.Int32), "entity_id": names, "community_id": names}
    )
    matrix = np.random.default_rng(0).standard_normal((count, 32)).astype(np.float32)
    found = build_context(
        relationships([]), levels, NodeVectors(pl.Series(names), matrix, "random"), ContextSettings()
    )
    assert found.account.row(0, named=True)["misaligned"] == 0
    assert found.account.row(0, named=True)["communities"] == count


def test_a_node_twice_in_a_level_is_an_error() -> None:
    rows = pl.concat([FIVE.levels, FIVE.levels.filter(entity_id="c").with_columns(community_id=pl.lit("1"))])
    with pytest.raises(GraphragError, match="node 'c' more than once at level 0"):
        build_context(FIVE.relationships, rows, FIVE.node_vectors, ContextSettings())


def test_vectors_that_cannot_be_compared_are_an_error() -> None:
    ids = pl.Series(["a", "b"])
    with pytest.raises(GraphragError, match="2 nodes need a row each"):
        NodeVectors(ids, np.zeros((3, 2), dtype=np.float32), "given")
    with pytest.raises(GraphragError, match="shape"):
        NodeVectors(ids, np.zeros(2, dtype=np.float32), "given")
    with pytest.raises(GraphragError, match="'a' twice"):
        NodeVectors(pl.Series(["a", "a"]), np.zeros((2, 2), dtype=np.float32), "given")
    for wrong in (np.nan, np.inf):
        with pytest.raises(GraphragError, match="not finite for 1 nodes, e.g. 'b'"):
            NodeVectors(ids, np.array([[1], [wrong]], dtype=np.float32), "given")


def test_a_node_outside_the_communities_carries_paths_and_is_no_candidate() -> None:
    inside = {node: community for node, community in FIVE.communities.items() if node != "c"}
    found = built(Case(FIVE.edges, inside, FIVE.vectors))
    assert found.candidates.select("entity_id", "distance").rows() == [("e", 3)]
    assert found.account["nodes"].to_list() == [4]


def test_vectors_of_other_nodes_and_in_another_order_are_none_the_worse() -> None:
    vectors = node_vectors({**FIVE.vectors, "z": [7, 7]})
    turned = NodeVectors(vectors.ids.reverse(), vectors.matrix[::-1].copy(), "given")
    found = build_context(FIVE.relationships, FIVE.levels, turned, ContextSettings())
    assert found.candidates.equals(built(FIVE).candidates)
