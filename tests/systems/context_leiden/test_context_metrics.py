import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.systems.context_leiden.index import cosine_similarity as nearest
from graphrag_dagster.systems.context_leiden.index.context_node_selection import build_context
from graphrag_dagster.systems.context_leiden.index.cosine_similarity import (
    UnitVectors,
    nearest_nodes,
    nearest_to,
)
from graphrag_dagster.systems.context_leiden.settings import ContextSettings
from graphrag_dagster.systems.context_leiden.studies import context_metrics as level_nodes
from graphrag_dagster.systems.context_leiden.studies.context_metrics import (
    NONE,
    Memberships,
    cross_similarity,
    measure_context,
    random_misaligned,
    random_nodes,
    shares,
)
from graphrag_dagster.systems.context_leiden.studies.metric_tables import COLUMNS
from tests.support.context_graphs import FIVE, Case, community_levels, random_case

FIVE_HOME = np.array([0, 0, 1, 1, 1])
FIVE_ATTACHED = np.array([NONE, NONE, NONE, NONE, 0])


def measured(case: Case, options: ContextSettings | None = None, **more: int) -> dict[tuple[str, str], float]:
    found = build_context(case.relationships, case.levels, case.node_vectors, options or ContextSettings())
    frame = measure_context(found.candidates, case.levels, case.node_vectors, **more)
    assert frame.schema == COLUMNS
    assert not frame.select(pl.struct("level", "measure", "reading").is_duplicated().any()).item()
    return {(row["measure"], row["reading"]): row["value"] for row in frame.iter_rows(named=True)}


def random_matrix(seed: int, nodes: int, width: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((nodes, width)).astype(np.float32)


def test_the_example_of_five_nodes() -> None:
    units = UnitVectors(FIVE.node_vectors.matrix)
    members = np.arange(5)
    cross = cross_similarity(units, members, FIVE_HOME)
    assert cross.tolist() == pytest.approx([1 / 3, 1 / 3, 0, 0, 1])
    near = nearest_nodes(units, members, members, 2)
    assert near.tolist() == [[1, 4], [0, 4], [3, 0], [2, 0], [0, 1]]
    nobody = np.full(5, NONE)
    assert shares(FIVE_HOME, nobody, members, near, own_set=False).tolist() == [0.5, 0.5, 0.5, 0.5, 0]
    aware = shares(FIVE_HOME, FIVE_ATTACHED, members, near, own_set=False)
    assert aware.tolist() == [1, 1, 0.5, 0.5, 1]
    own_set = shares(FIVE_HOME, FIVE_ATTACHED, members, near, own_set=True)
    assert own_set.tolist() == [1, 1, 0.5, 0.5, 0]
    found = measured(FIVE, k=2)
    assert found["precision_at_2", "plain"] == pytest.approx(0.4)
    assert found["precision_at_2", "context"] == pytest.approx(0.8)
    assert found["precision_at_2", "context_minus_plain"] == pytest.approx(0.4)
    assert found["precision_at_2_own_set", "context"] == pytest.approx(0.6)
    assert found["cross_similarity", "context"] == pytest.approx(1)
    assert found["cross_similarity", "leiden"] == pytest.approx(1 / 6)
    assert found["cross_similarity", "random_misaligned"] == pytest.approx(1)
    assert found["cross_similarity_outside_both", "context"] is None


@given(st.integers(0, 2**32), st.integers(2, 50), st.integers(1, 8))
def test_the_closed_form_is_the_mean_of_the_cosines(seed: int, nodes: int, communities: int) -> None:
    matrix = random_matrix(seed, nodes)
    rng = np.random.default_rng(seed)
    home = np.unique(rng.integers(0, communities, nodes), return_inverse=True)[1]
    also = np.where(rng.random(nodes) < 0.5, (home + 1) % (home.max() + 1), NONE)
    also[also == home] = NONE
    lengths = np.linalg.norm(matrix.astype(float), axis=1, keepdims=True)
    cosines = (matrix / lengths) @ (matrix / lengths).T
    for second in (None, also):
        outside = home[:, None] != home[None, :]
        if second is not None:
            outside &= second[:, None] != home[None, :]
        found = cross_similarity(UnitVectors(matrix), np.arange(nodes), home, second)
        for node in range(nodes):
            if outside[node].any():
                assert found[node] == pytest.approx(cosines[node][outside[node]].mean(), abs=1e-9)
            else:
                assert np.isnan(found[node])


@pytest.mark.parametrize("nodes", [1, 2, 5, 6, 7, 64, 400, 1000])
@pytest.mark.parametrize("copies", [1, 40])
def test_the_nearest_are_those_of_all_pairs(nodes: int, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "_PRODUCTS", 9000)
    matrix = random_matrix(nodes, nodes)[np.arange(nodes) // copies]
    units = UnitVectors(matrix)
    members = np.arange(nodes)
    cosines = units.double(members) @ units.double(members).T
    cosines[members, members] = -9
    expected = [np.lexsort((members, -row.round(9)))[: min(5, nodes - 1)].tolist() for row in cosines]
    places = members[::3]
    assert nearest_nodes(units, members, places, 5).tolist() == expected[::3]
    queries = random_matrix(1, 4).astype(float)
    products = queries @ units.double(members).T
    expected = [np.lexsort((members, -row.round(9)))[:5].tolist() for row in products]
    assert nearest_to(units, members, queries, 5).tolist() == expected


@given(st.integers(0, 2**32))
def test_precision_never_falls_whatever_is_attached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 40))
    home = np.unique(rng.integers(0, 6, nodes), return_inverse=True)[1]
    members = np.arange(nodes)
    near = nearest_nodes(UnitVectors(random_matrix(seed, nodes)), members, members, 5)
    attached = np.where(rng.random(nodes) < 0.4, rng.integers(0, home.max() + 1, nodes), NONE)
    plain = shares(home, np.full(nodes, NONE), members, near, own_set=False)
    own_set = shares(home, attached, members, near, own_set=True)
    union = shares(home, attached, members, near, own_set=False)
    assert (plain <= own_set).all()
    assert (own_set <= union).all()
    for node in range(nodes):
        mine = {home[node], attached[node]} - {NONE}
        hits = [bool(({home[other], attached[other]} - {NONE}) & mine) for other in near[node]]
        assert union[node] == pytest.approx(np.mean(hits))


def test_without_a_budget_nothing_changes() -> None:
    found = measured(random_case(3, nodes=100), ContextSettings(lambda_max=0))
    assert found["precision_at_5", "plain"] == found["precision_at_5", "context"]
    assert found["precision_at_5", "random"] == pytest.approx(found["precision_at_5", "plain"])
    assert str(found["precision_at_5", "context_minus_random"]) == "0.0"
    assert found["cross_similarity", "context"] is None
    assert found["cross_similarity", "leiden"] == found["cross_similarity", "all"]


@given(st.integers(0, 2**32))
def test_random_nodes_are_as_many_for_each_community_and_of_none_their_own(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 30))
    home = np.unique(rng.integers(0, 4, nodes), return_inverse=True)[1]
    attached = rng.integers(0, home.max() + 1, nodes)
    attached[(attached == home) | (rng.random(nodes) < rng.random())] = NONE
    members = Memberships(home, attached, attached)
    for drawn in random_nodes(members, 5, seed):
        assert not (drawn == home).any()
        assert sorted(drawn) == sorted(attached)


def test_random_nodes_are_any_of_the_others() -> None:
    home = np.repeat([0, 1, 2, 3], 5)
    attached = np.full(20, NONE)
    attached[[5, 6, 0]] = [0, 0, 1]
    drawn = np.stack(list(random_nodes(Memberships(home, attached, attached), 3000, 1)))
    counts = (drawn == 0).sum(axis=0)
    assert not counts[:5].any()
    assert np.allclose(counts[5:] / 3000, 2 / 15, atol=0.035)
    again = list(random_nodes(Memberships(home, attached, attached), 2, 1))
    assert np.array_equal(np.stack(again), drawn[:2])


def test_random_misaligned_nodes_are_as_many_of_those_that_resemble_the_community() -> None:
    home = np.repeat([0, 1, 2], 10)
    resembled = np.full(30, NONE)
    resembled[10:18], resembled[0:4] = 0, 2
    attached = np.full(30, NONE)
    attached[[10, 11, 12]], attached[0] = 0, 2
    drawn = np.stack(list(random_misaligned(Memberships(home, attached, resembled), 1000, 0)))
    assert ((drawn == NONE) | (drawn == resembled)).all()
    assert ((drawn == 0).sum(axis=1) == 3).all()
    assert ((drawn == 2).sum(axis=1) == 1).all()
    assert np.allclose((drawn == 0).mean(axis=0)[10:18], 3 / 8, atol=0.06)


@pytest.mark.parametrize("seed", range(8))
def test_the_rows_fit_together(seed: int) -> None:
    case = random_case(seed, nodes=150)
    found = measured(case)
    for measure in ("precision_at_5", "precision_at_5_own_set"):
        of = {reading: value for (name, reading), value in found.items() if name == measure}
        assert of["plain"] <= of["random"] <= 1
        assert of["plain"] <= of["context"]
        assert of["context_minus_plain"] == pytest.approx(of["context"] - of["plain"])
        assert of["random_minus_plain"] == pytest.approx(of["random"] - of["plain"])
        assert of["context_minus_random"] == pytest.approx(of["context"] - of["random"])
        assert of["context_minus_random_misaligned"] == pytest.approx(of["context"] - of["random_misaligned"])
        normalised = (of["context"] - of["random"]) / (1 - of["random"])
        assert of["size_normalised"] == pytest.approx(normalised, abs=0.02)
    assert found["mean_precision_at_5", "plain"] <= found["mean_precision_at_5", "context"]
    again = measured(case)
    assert again == found
    assert measured(case, seed=1)["precision_at_5", "random"] != found["precision_at_5", "random"]


def test_precision_at_the_mean_of_what_has_grown_can_fall() -> None:
    falling = 0
    for seed in range(8):
        found = measured(random_case(seed, nodes=150), ContextSettings(alpha=3))
        falling += found["mean_precision_at_5", "context_own_mean"] < found["mean_precision_at_5", "context"]
    assert falling


def test_one_community_has_nothing_outside() -> None:
    case = Case([("a", "b")], {"a": "1", "b": "1"}, {"a": [1, 0], "b": [0, 1]})
    found = measured(case)
    assert found["cross_similarity", "all"] is None
    assert found["precision_at_5", "plain"] == found["precision_at_5", "context"] == 1
    assert found["precision_at_5", "size_normalised"] is None


@pytest.mark.parametrize(
    "case",
    [
        Case([], {"a": "1"}, {"a": [1, 0]}),
        Case([("a", "b")], {"a": "1", "b": "2"}, {"a": [0, 0], "b": [0, 0]}),
        Case([("a", "b")], {"a": "1", "b": "2"}, {"a": [1, 0], "b": [0, 0]}),
    ],
)
def test_nothing_to_compare_has_rows_without_a_value(case: Case) -> None:
    found = measured(case)
    assert found["precision_at_5", "plain"] is None
    assert found["precision_at_5", "random"] is None
    assert found["cross_similarity", "context"] is None


def test_without_levels_there_are_no_rows() -> None:
    empty = Case([], {}, {})
    assert not measured(empty)


def test_levels_alike_have_the_same_rows() -> None:
    case = random_case(2, nodes=80)
    levels = community_levels([dict.fromkeys(case.communities, "all"), case.communities, case.communities])
    found = build_context(case.relationships, levels, case.node_vectors, ContextSettings())
    frame = measure_context(found.candidates, levels, case.node_vectors)
    assert frame["level"].unique().to_list() == [0, 1, 2]
    one, two, three = (frame.filter(level=level).drop("level") for level in (0, 1, 2))
    assert two.equals(three)
    assert not two.equals(one)


def test_of_many_nodes_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(1, nodes=150)
    exact = measured(case)
    monkeypatch.setattr(level_nodes, "_EXACT_UP_TO", 100)
    monkeypatch.setattr(level_nodes, "_SAMPLED", 120)
    sampled = measured(case)
    assert sampled["precision_at_5", "plain"] == pytest.approx(exact["precision_at_5", "plain"], abs=0.1)
    assert sampled["precision_at_5", "plain"] != exact["precision_at_5", "plain"]
    assert sampled["cross_similarity", "all"] == exact["cross_similarity", "all"]


def test_a_selection_that_follows_meaning_beats_chance() -> None:
    graph = nx.planted_partition_graph(6, 30, 0.3, 0.02, seed=1)
    rng = np.random.default_rng(1)
    meaning = rng.permutation(np.arange(180) % 6)
    meaning[rng.random(180) < 0.7] = -1
    meaning = np.where(meaning < 0, np.arange(180) // 30, meaning)
    centres = rng.standard_normal((6, 20))
    names = [f"n{node:03d}" for node in range(180)]
    case = Case(
        [(names[one], names[other]) for one, other in graph.edges()],
        {name: f"c{node // 30}" for node, name in enumerate(names)},
        dict(zip(names, (centres[meaning] + 0.6 * rng.standard_normal((180, 20))).tolist(), strict=True)),
    )
    found = measured(case, ContextSettings(alpha=3))
    assert found["precision_at_5", "context_minus_random"] > 0.02
    assert found["precision_at_5", "size_normalised"] > 0.02
    assert found["cross_similarity", "context_minus_leiden"] > 0
