"""Neighbourhoods, and what random walks come by."""

import igraph
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.graph.adjacency_arrays import Followed, PathStore
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from support.path_graphs import graph_of, node
from support.random_walks import pairs, random_store


def neighbourhood(store: PathStore, followed: Followed, hops: int) -> Subgraph:
    options = PathOptions(extraction="khop", direction=followed, hops=hops)
    return extractor_of(options, store).extract(PathQuery("?", (0,))).subgraph


@given(st.integers(0, 10_000).map(random_store), st.sampled_from(["out", "both"]), st.integers(0, 4))
def test_a_neighbourhood_is_that_of_igraph(store: PathStore, followed: Followed, hops: int) -> None:
    graph = igraph.Graph(store.nodes, pairs(store, followed), directed=True)
    found = neighbourhood(store, followed, hops)
    near = sorted(graph.neighborhood(0, order=hops, mode="out"))
    assert found.nodes.tolist() == near
    assert found.edges.tolist() == store.between(found.nodes).tolist()


def walked(store: PathStore, seeds: tuple[int, ...], chance: int = 0, walks: int = 3) -> set[int]:
    options = PathOptions(extraction="walks", direction="both", walks=walks, walk_steps=2, seed=chance)
    return set(extractor_of(options, store).extract(PathQuery("?", seeds)).subgraph.nodes.tolist())


@given(st.integers(0, 10_000).map(random_store))
def test_walks_from_a_node_are_the_same_in_every_question(store: PathStore) -> None:
    last = store.nodes - 1
    both = walked(store, (0, last) if last else (0,))
    assert both == walked(store, (0,)) | walked(store, (last,))
    assert walked(store, (0,)) <= set(neighbourhood(store, "both", 2).nodes.tolist())


def test_other_chance_walks_elsewhere() -> None:
    store = graph_of([("hub", "p", f"leaf{place:03}") for place in range(500)])
    hub = node(store, "hub")
    assert walked(store, (hub,), chance=1) != walked(store, (hub,), chance=2)


def test_a_dead_end_ends_a_walk_and_nothing_begins_without_a_seed() -> None:
    store = graph_of([("a", "p", "b"), ("c", "p", "a")])
    options = {"extraction": "walks", "direction": "out"}
    found = extractor_of(PathOptions(**options), store).extract(PathQuery("?", (node(store, "a"),)))
    assert [store.label(one) for one in found.subgraph.nodes] == ["a", "b"]
    assert not len(extractor_of(PathOptions(**options), store).extract(PathQuery("?", ())).subgraph.nodes)
    assert not len(
        extractor_of(PathOptions(extraction="khop"), store).extract(PathQuery("?", ())).subgraph.nodes
    )
