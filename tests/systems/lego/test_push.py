"""Personalised PageRank that is not exact: what forward push, FORA and RBS promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import Followed
from graphrag_dagster.systems.lego.subgraphs.approximate_pagerank import (
    fora_ranks,
    push,
    push_ranks,
    rbs_ranks,
    spread_places,
)
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import adjacency_of
from support.path_graphs import graph_of, node
from support.random_walks import random_store, solved, walk

WAYS: tuple[Followed, ...] = ("out", "both")
D = 0.8
stores = st.integers(0, 10_000).map(random_store)
ways = st.sampled_from(WAYS)
thresholds = st.floats(1e-4, 2)


def test_the_worked_example() -> None:
    store = graph_of([("s", "p", "a"), ("s", "p", "b"), ("a", "p", "t")])
    reserves, residues = push(adjacency_of(store, "out"), (node(store, "s"),), D, 0.3)
    order = [node(store, label) for label in "sabt"]
    assert reserves[order].tolist() == pytest.approx([0.2, 0.08, 0.08, 0.064])
    assert residues[order].tolist() == pytest.approx([0.576, 0, 0, 0])


@given(stores, ways, thresholds, st.data())
def test_push_is_pagerank_less_what_its_residues_bring(
    store, followed: Followed, rmax: float, data: st.DataObject
) -> None:
    seeds = tuple(data.draw(st.sets(st.integers(0, store.nodes - 1), min_size=1, max_size=3)))
    adjacency = adjacency_of(store, followed)
    reserves, residues = push(adjacency, seeds, D, rmax)
    assert reserves.sum() + residues.sum() == pytest.approx(1)
    assert (residues <= rmax * np.maximum(adjacency.degrees, 1) + 1e-15).all()
    exact = solved(store, followed, seeds)
    assert (reserves <= exact + 1e-12).all()
    assert exact - reserves == pytest.approx(residues @ brought(store, followed, seeds), abs=1e-12)
    # A seed without an edge gives to the other seeds whatever their degree.
    if followed == "both" and adjacency.degrees[list(seeds)].all():
        assert (exact - reserves <= rmax * np.maximum(adjacency.degrees, 1) + 1e-12).all()


def brought(store, followed: Followed, seeds: tuple[int, ...]) -> np.ndarray:
    """What a unit at each node brings to each [n, n], where dead ends give back to the seeds."""
    reset = np.zeros(store.nodes)
    reset[list(seeds)] = 1 / len(seeds)
    step = walk(store, followed)
    step += np.outer(step.sum(axis=1) == 0, reset)
    return (1 - D) * np.linalg.inv(np.eye(store.nodes) - D * step)


@given(stores, ways, thresholds, st.integers(1, 6))
def test_no_reserve_falls_when_rmax_is_halved(store, followed: Followed, rmax: float, halvings: int) -> None:
    adjacency = adjacency_of(store, followed)
    before = push_ranks(adjacency, (0,), D, rmax)
    after = push_ranks(adjacency, (0,), D, rmax / 2**halvings)
    assert (after >= before).all()


@given(stores, ways)
def test_push_comes_to_pagerank(store, followed: Followed) -> None:
    found = push_ranks(adjacency_of(store, followed), (0,), D, 1e-10)
    assert found == pytest.approx(solved(store, followed, (0,)), abs=1e-7)


def test_mass_is_spread_alike_by_a_product_and_edge_by_edge() -> None:
    store = random_store(3, most_nodes=60)
    for followed in WAYS:
        adjacency = adjacency_of(store, followed)
        one_by_one, together = np.zeros((2, store.nodes))
        seeds, everything = np.array([0, 1]), np.arange(store.nodes)
        mass = np.linspace(0.1, 1, store.nodes)
        assert spread_places(adjacency, seeds, everything, mass, together).tolist() == sorted(
            set().union(
                *(
                    spread_places(adjacency, seeds, everything[[one]], mass[[one]], one_by_one).tolist()
                    for one in range(store.nodes)
                )
            )
        )
        assert one_by_one == pytest.approx(together)


@pytest.mark.parametrize("followed", WAYS)
def test_fora_keeps_its_relative_error(followed: Followed) -> None:
    for number in range(20):
        store = random_store(number, most_nodes=60)
        exact = solved(store, followed, (0,))
        found = fora_ranks(adjacency_of(store, followed), (0,), D, 0.5, seed=1)
        assert found.sum() == pytest.approx(1)
        above = exact > 1 / store.nodes
        assert (np.abs(found - exact)[above] <= 0.5 * exact[above]).all()


def test_fora_is_right_in_the_mean() -> None:
    store = random_store(11, most_nodes=40)
    adjacency = adjacency_of(store, "both")
    found = np.array([fora_ranks(adjacency, (0, 2), D, 4.0, seed) for seed in range(300)])
    assert_mean(found, solved(store, "both", (0, 2)))


@pytest.mark.parametrize("followed", WAYS)
@pytest.mark.parametrize("seeds", [(0,), (0, 3)])
def test_rbs_is_right_in_the_mean_and_varies_no_more_than_it_says(
    followed: Followed, seeds: tuple[int, ...]
) -> None:
    theta = 0.02
    store = random_store(11, most_nodes=40)
    adjacency = adjacency_of(store, followed)
    exact = solved(store, followed, seeds)
    found = np.array([rbs_ranks(adjacency, seeds, D, theta, seed) for seed in range(600)])
    assert_mean(found, exact, beyond=theta)
    most = theta * exact @ brought(store, followed, seeds) ** 2
    assert (found.var(axis=0) <= 1.2 * most + 1e-15).all()
    assert found.var(axis=0).max() > 0


def assert_mean(found: np.ndarray, exact: np.ndarray, beyond: float = 0.0) -> None:
    deviation = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    missed = exact - found.mean(axis=0)
    assert (missed <= 4.5 * deviation + beyond + 1e-12).all()
    assert (missed >= -4.5 * deviation - 1e-12).all()


def test_rbs_without_chance_is_pagerank() -> None:
    store = random_store(7, most_nodes=20)
    found = rbs_ranks(adjacency_of(store, "both"), (0,), D, 1e-9, seed=0)
    assert found == pytest.approx(solved(store, "both", (0,)), abs=1e-8)


def test_pagerank_seen_from_a_target_is_that_seen_from_the_seed() -> None:
    store = random_store(11, most_nodes=40)
    degrees = np.maximum(adjacency_of(store, "both").degrees, 1)
    seen = np.array([solved(store, "both", (one,)) for one in range(store.nodes)])
    one_graph = seen > 0
    assert (seen * degrees[:, None])[one_graph] == pytest.approx((seen.T * degrees)[one_graph])


@pytest.mark.parametrize("followed", WAYS)
def test_what_is_drawn_depends_on_the_seeds_alone(followed: Followed) -> None:
    adjacency = adjacency_of(random_store(11, most_nodes=40), followed)
    for ranks in (
        lambda seeds, chance: fora_ranks(adjacency, seeds, D, 2.0, chance),
        lambda seeds, chance: rbs_ranks(adjacency, seeds, D, 0.1, chance),
    ):
        first = ranks((0, 1), 5)
        ranks((2,), 5)
        assert ranks((1, 0), 5).tobytes() == first.tobytes()


def test_without_a_seed_there_is_nothing() -> None:
    adjacency = adjacency_of(random_store(1), "both")
    assert not push_ranks(adjacency, (), D, 0.1).any()
    assert not fora_ranks(adjacency, (), D, 0.5, 0).any()
    assert not rbs_ranks(adjacency, (), D, 0.1, 0).any()


def test_thresholds_that_mean_nothing_are_refused() -> None:
    adjacency = adjacency_of(random_store(1), "both")
    with pytest.raises(GraphragError, match="rmax 0"):
        push_ranks(adjacency, (0,), D, 0)
    with pytest.raises(GraphragError, match="epsilon 0"):
        fora_ranks(adjacency, (0,), D, 0, 1)
    with pytest.raises(GraphragError, match="rmax 1"):
        rbs_ranks(adjacency, (0,), D, 1, 1)
