"""A graph as arrays."""

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, Prefilter, store_of
from graphrag_dagster.kernel.graph.graph_labels import VerbalizedRows, first_by_score
from graphrag_dagster.systems.lego.search.reasoning_paths import NONE, Paths, Subgraph
from support.path_graphs import Triple, graph_of, node

triples = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("pqr"), st.sampled_from("abcde")), max_size=25
)


def told(store: PathStore) -> set[Triple]:
    return {
        (store.label(head), store.relations[relation], store.label(tail))
        for head, relation, tail in zip(store.heads, store.edge_relations, store.tails, strict=True)
    }


@given(triples)
def test_a_store_holds_each_triple_once_from_both_ends(rows: list[Triple]) -> None:
    store = graph_of(rows, alone="z")
    assert told(store) == set(rows)
    assert store.edges == len(set(rows))
    for place in range(store.nodes):
        assert all(store.heads[store.out_edges(place)] == place)
        assert all(store.tails[store.into_edges(place)] == place)
    assert store.degrees("out").sum() == store.edges
    assert store.degrees("both").sum() == 2 * store.edges


@given(triples, st.randoms(use_true_random=False))
def test_the_order_of_triples_changes_nothing(rows: list[Triple], drawn: random.Random) -> None:
    mixed = list(rows)
    drawn.shuffle(mixed)
    one, other = graph_of(rows), graph_of(mixed)
    assert list(one.labels) == list(other.labels)
    assert one.relations == other.relations
    for name in ("heads", "edge_relations", "tails", "in_edges", "out_starts", "in_starts", "label_of"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_a_written_graph_is_read_as_it_was(tmp_path: Path) -> None:
    store = graph_of([("ä -> b", "p", "$"), ("$", "q", "c")], alone=["z"])
    store.write(tmp_path)
    opened = PathStore.open(tmp_path)
    assert told(opened) == told(store)
    assert isinstance(opened.heads, np.memmap)
    assert list(opened.entity_ids) == list(store.entity_ids)
    assert opened.reciprocal == store.reciprocal


def test_a_damaged_graph_is_refused(tmp_path: Path) -> None:
    graph_of([("a", "p", "b")]).write(tmp_path)
    (tmp_path / "tails.npy").write_bytes(b"no array")
    with pytest.raises(WarehouseError, match="delete it"):
        PathStore.open(tmp_path)


def test_directions_are_found_by_edges_back() -> None:
    assert graph_of([("a", "p", "b"), ("b", "~p", "a")]).resolve_direction("auto") == "out"
    assert graph_of([("a", "p", "b"), ("b", "p", "c")]).resolve_direction("auto") == "both"
    assert graph_of([]).resolve_direction("auto") == "both"


def test_namesakes_stay_apart_and_are_written_alike() -> None:
    entities = pl.DataFrame(
        {"entity_id": ["1", "2", "3"], "name": ["P A", "P B", "F"], "title": ["Paris", "Paris", ""]}
    )
    rows = pl.DataFrame({"head_id": ["1", "2"], "relation": ["in", "in"], "tail_id": ["3", "3"]})
    store = store_of(entities, rows)
    assert store.nodes == 3
    assert store.edges == 2
    assert sorted(store.label(place) for place in range(3)) == ["F", "Paris", "Paris"]
    shown = Subgraph.of_edges(store, np.arange(2), ()).triples()
    assert shown.texts == ["Paris -> in -> F"] * 2
    assert shown.distinct().tolist() == [0]


def test_relations_that_tell_nothing_are_left_out() -> None:
    relations = ["type.object.name", "common.topic.alias", "a.sameAs", "people.person.parents"]
    entities = pl.DataFrame({"entity_id": ["1", "2"], "name": ["A", "B"], "title": ["A", "B"]})
    rows = pl.DataFrame({"head_id": ["1"] * 4, "relation": relations, "tail_id": ["2"] * 4})
    store = store_of(entities, rows, Prefilter())
    assert store.relations == ("people.person.parents",)
    assert store.left_out == 3


def test_a_subgraph_is_pruned_to_edges_and_keeps_its_seeds() -> None:
    store = graph_of([("a", "p", "b"), ("c", "p", "d")], alone=["e"])
    seeds = (node(store, "e"),)
    found = Subgraph.of_edges(store, np.arange(2), seeds)
    assert found.components == 3
    assert Subgraph.of_edges(store, np.arange(0), seeds).nodes.tolist() == list(seeds)
    among = Subgraph.of_nodes(store, np.array([node(store, "a"), node(store, "c")]), seeds)
    assert among.edges.tolist() == []
    steps = found.steps("both")
    assert np.diff(steps.starts).tolist() == [1, 1, 1, 1, 0]


def test_paths_of_different_lengths_are_written_piece_by_piece() -> None:
    store = graph_of([("a", "p", "b"), ("c", "q", "b")])
    a, b, c = (node(store, one) for one in "abc")
    short = Paths(store, np.array([[a, b]]), np.array([[0]]), np.array([[False]]), np.ones(1))
    long = Paths(store, np.array([[a, b, c]]), np.array([[0, 1]]), np.array([[False, True]]), np.full(1, 0.5))
    both = Paths.concatenate([short, long])
    assert both.verbalised.texts == ["a -> p -> b", "a -> p -> b -> ~q -> c"]
    assert both.lengths.tolist() == [1, 2]
    assert both.ends.tolist() == [b, c]
    assert both.nodes[0].tolist() == [a, b, NONE]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=12), st.integers(-1, 12))
def test_equal_scores_are_in_the_order_of_texts(scores: list[float], most: int) -> None:
    labels = [f"n{place:02}" for place in range(12)]
    store = graph_of([], alone=labels)
    places = np.arange(len(scores))[::-1].astype(np.int32)
    candidates = VerbalizedRows(store.vocabulary, places[:, None])
    chosen = first_by_score(np.array(scores, dtype=np.float64), candidates, most)
    wanted = sorted(range(len(scores)), key=lambda at: (-scores[at], candidates.texts[at]))
    assert chosen.tolist() == (wanted if most < 0 else wanted[:most])
