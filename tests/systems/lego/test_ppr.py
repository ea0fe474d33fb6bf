"""Personalised PageRank and the subgraphs of its largest."""

import random
from pathlib import Path

import igraph
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from graphrag_dagster.errors import GraphragError, QuestionError
from graphrag_dagster.kernel.graph.adjacency_arrays import Followed, PathStore
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.subgraphs.personalized_pagerank import PageRanks, page_ranks_of
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import largest_places
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import adjacency_of
from support.path_graphs import Triple, graph_of, node
from support.random_walks import pairs, random_store, solved

WAYS: tuple[Followed, ...] = ("out", "both")
triples = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("pq"), st.sampled_from("abcde")), max_size=20
)


def ranks(store: PathStore, followed: Followed, *seeds: int) -> list[float]:
    return page_ranks_of(store, followed, 0.8).ranks(seeds).tolist()


def test_the_worked_examples() -> None:
    store = graph_of([("s", "p", "a"), ("s", "p", "b"), ("a", "p", "t")])
    s = node(store, "s")
    found = dict(zip(store.labels, ranks(store, "out", s), strict=True))
    assert [round(found[label], 4) for label in "sabt"] == [0.4717, 0.1887, 0.1887, 0.1509]
    two = graph_of([("s", "p", "a"), ("s", "p", "b")])
    assert ranks(two, "out", node(two, "s")) == pytest.approx([2 / 9, 2 / 9, 5 / 9], abs=1e-9)


@pytest.mark.parametrize("followed", WAYS)
def test_it_is_igraphs_and_that_of_a_dense_solve(followed: Followed) -> None:
    for seed in range(200):
        store = random_store(seed)
        drawn = random.Random(seed)
        seeds = tuple(drawn.sample(range(store.nodes), drawn.randint(1, min(3, store.nodes))))
        reset = [float(place in seeds) for place in range(store.nodes)]
        graph = igraph.Graph(store.nodes, pairs(store, followed), directed=True)
        other = graph.personalized_pagerank(implementation="prpack", damping=0.8, reset=reset)
        found = ranks(store, followed, *seeds)
        assert np.abs(np.array(found) - solved(store, followed, seeds)).sum() <= 1e-8
        assert found == pytest.approx(other, abs=1e-8)


@given(triples, st.integers(0, 4), st.sampled_from(WAYS), st.floats(0.05, 0.97))
@example([("a", "p", "a"), ("b", "p", "a")], 1, "out", 0.9375)
def test_it_is_a_distribution_over_what_can_be_reached(
    rows: list[Triple], seed: int, followed: Followed, damping: float
) -> None:
    store = graph_of(rows, alone="abcde")
    found = PageRanks(adjacency_of(store, followed), damping).ranks((seed,))
    assert found.sum() == pytest.approx(1)
    reached = igraph.Graph(store.nodes, pairs(store, followed), directed=True).subcomponent(seed, "out")
    assert set(np.flatnonzero(found > 0).tolist()) == set(reached)
    assert found == pytest.approx(solved(store, followed, (seed,), damping), abs=1.1e-8)


@pytest.mark.parametrize("followed", WAYS)
def test_what_was_asked_before_changes_nothing(followed: Followed) -> None:
    store = random_store(5, most_nodes=40)
    known = PageRanks(adjacency_of(store, followed))
    for seeds in [*((one,) for one in range(store.nodes)), (0, 1, 2), (2, 1, 0), ()]:
        alone = PageRanks(adjacency_of(store, followed)).ranks(seeds)
        assert known.ranks(seeds).tobytes() == alone.tobytes()
    assert not known.ranks(()).any()


def test_ranks_are_found_beforehand_for_all_who_need_them() -> None:
    store = random_store(5, most_nodes=40)
    extractor = extractor_of(PathOptions(), store)
    extractor.prepare([PathQuery("a?", (0,)), PathQuery("b?", (1, 0)), PathQuery("c?", ())])
    known = page_ranks_of(store, "both", 0.8)
    assert known.known == 2
    extractor.extract(PathQuery("b?", (0, 1)))
    assert known.known == 2
    with pytest.raises(QuestionError, match="seed 99"):
        extractor.prepare([PathQuery("d?", (99,))])


def test_vectors_are_shared_by_all_who_ask_for_a_graph() -> None:
    store = graph_of([("a", "p", "b")])
    assert page_ranks_of(store, "out", 0.8) is page_ranks_of(store, "out", 0.8)
    known = page_ranks_of(store, "out", 0.8)
    assert known.ranks((0, 1)) is known.ranks((1, 0))


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.1 + 1e-14, 0.3]), min_size=1, max_size=9),
    st.integers(1, 10),
    st.data(),
)
def test_the_largest_are_kept_and_the_seeds(values: list[float], most: int, data: st.DataObject) -> None:
    seeds = tuple(data.draw(st.sets(st.integers(0, len(values) - 1), max_size=3)))
    found = largest_places(np.array(values), most, seeds).tolist()
    wanted = sorted(range(len(values)), key=lambda one: (one not in seeds, -round(values[one], 12), one))
    kept = [one for one in wanted if values[one] > 0 or one in seeds]
    assert found == sorted(kept[: max(most, len(seeds))])


def extracted(store: PathStore, *seeds: int, **options: object) -> tuple[list[str], int]:
    extractor = extractor_of(PathOptions(**options), store)
    found = extractor.extract(PathQuery("who?", seeds)).subgraph
    assert found.seeds == seeds
    return [store.label(one) for one in found.nodes], len(found.edges)


def test_a_subgraph_is_what_is_reached_with_all_edges_among_it() -> None:
    store = graph_of([("a", "p", "b"), ("a", "q", "b"), ("b", "p", "c"), ("d", "p", "a")], alone="z")
    a = node(store, "a")
    assert extracted(store, a, direction="both") == (["a", "b", "c", "d"], 4)
    assert extracted(store, a, direction="out") == (["a", "b", "c"], 3)
    assert extracted(store, a, direction="both", max_ent=2) == (["a", "b"], 2)
    assert extracted(store, a, direction="both", max_ent=10**9) == (["a", "b", "c", "d"], 4)
    assert extracted(store, node(store, "z"), max_ent=1000) == (["z"], 0)
    assert extracted(store, a, node(store, "z"), max_ent=1) == (["a", "z"], 0)
    assert extracted(store) == ([], 0)


@given(triples, st.randoms(use_true_random=False), st.integers(1, 5))
def test_the_order_of_triples_changes_no_subgraph(
    rows: list[Triple], drawn: random.Random, most: int
) -> None:
    mixed = list(rows)
    drawn.shuffle(mixed)
    one, other = (graph_of(each, alone="abcde") for each in (rows, mixed))
    for seed in range(5):
        assert extracted(one, seed, max_ent=most) == extracted(other, seed, max_ent=most)


def test_a_hub_of_many_edges(tmp_path: Path) -> None:
    graph_of([("hub", "p", f"leaf{place:06}") for place in range(100_000)]).write(tmp_path)
    store = PathStore.open(tmp_path)
    labels, edges = extracted(store, node(store, "leaf000007"), max_ent=1000)
    assert (len(labels), edges) == (1000, 999)
    assert "leaf000007" in labels
    assert labels[:3] == ["hub", "leaf000000", "leaf000001"]


def test_a_graph_without_anything() -> None:
    assert extracted(graph_of([])) == ([], 0)


@pytest.mark.parametrize("seed", [-1, 2])
def test_a_seed_that_is_not_in_the_graph_is_refused(seed: int) -> None:
    store = graph_of([("a", "p", "b")])
    with pytest.raises(QuestionError, match=f"'who\\?': seed {seed} is not in the graph.* 0 to 1"):
        extracted(store, seed)


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(GraphragError, match="damping 1.0"):
        extracted(graph_of([("a", "p", "b")]), 0, damping=1.0)
    with pytest.raises(ValidationError, match="max_ent"):
        PathSettings(max_ent=0)
