"""Paths that are found in a subgraph."""

import itertools
import random
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.systems.lego.retrieval.path_enumeration import RetrievedPaths
from graphrag_dagster.systems.lego.retrieval.path_retrievers import retriever_of
from graphrag_dagster.systems.lego.retrieval.scorer_registry import scorer_of
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions, Switches, TieRule
from graphrag_dagster.systems.lego.search.reasoning_paths import NONE, PathQuery, Paths, Subgraph
from support.path_graphs import Triple, graph_of, node
from support.path_judges import WrittenScores

triples = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("pqr"), st.sampled_from("abcdefg")), max_size=20
)
directions = st.sampled_from(["out", "both"])


def whole(store: PathStore, *seeds: str) -> tuple[PathQuery, Subgraph]:
    places = tuple(node(store, one) for one in seeds)
    return PathQuery("which p of a has q?", places), Subgraph.of_edges(store, np.arange(store.edges), places)


def found(store: PathStore, options: PathOptions, *seeds: str, **more: object) -> RetrievedPaths:
    return retriever_of(options, store, **more).retrieve(*whole(store, *seeds))


def texts(store: PathStore, options: PathOptions, *seeds: str, **more: object) -> list[str]:
    return found(store, options, *seeds, **more).paths.verbalised.texts


def walked(rows: list[Triple], direction: str) -> list[Triple]:
    back = [(tail, f"~{relation}", head) for head, relation, tail in rows] if direction == "both" else []
    return sorted({*rows, *back})


def all_simple(rows: list[Triple], direction: str, seed: str, longest: int = 4) -> set[str]:
    """Every path that comes to no node twice, edge by edge."""
    found, growing = set(), [((seed,), seed)]
    for _ in range(longest):
        growing = [
            ((*visited, tail), f"{text} -> {relation} -> {tail}")
            for visited, text in growing
            for head, relation, tail in walked(rows, direction)
            if head == visited[-1] and tail not in visited
        ]
        found |= {text for _, text in growing}
    return found


def options(retrieval: str = "spr", **more: object) -> PathOptions:
    return replace(PathOptions(retrieval=retrieval), **more)


# --- shortest paths


@given(triples, directions)
def test_shortest_paths_are_as_long_as_distances(rows: list[Triple], direction: str) -> None:
    store = graph_of(rows, alone=["a", "z"])
    paths = found(store, options(direction=direction), "a").paths
    graph = nx.MultiDiGraph([(head, tail) for head, _, tail in walked(rows, direction)])
    graph.add_node("a")
    wanted = {
        to: far for to, far in nx.single_source_shortest_path_length(graph, "a", cutoff=4).items() if far
    }
    assert {store.label(end): int(far) for end, far in zip(paths.ends, paths.lengths, strict=True)} == wanted
    assert list(paths.lengths) == sorted(paths.lengths)
    for text in paths.verbalised.texts:
        assert text in all_simple(rows, direction, "a")


def test_of_parallel_edges_a_shortest_path_takes_the_first_relation() -> None:
    store = graph_of([("a", "q", "b"), ("a", "p", "b"), ("b", "r", "c")])
    assert texts(store, options(direction="out"), "a") == ["a -> p -> b", "a -> p -> b -> r -> c"]
    scorer = WrittenScores()
    isar = texts(store, options("isar", direction="out"), "a", scorer=scorer)
    assert {"a -> p -> b", "a -> q -> b"} <= set(isar)


def test_neighbours_are_looked_at_by_relation_then_node() -> None:
    store = graph_of([("a", "p", "y"), ("a", "q", "b"), ("y", "p", "t"), ("b", "p", "t")])
    assert texts(store, options(direction="out"), "a")[-1] == "a -> p -> y -> p -> t"


def test_ids_are_walked_through_but_are_no_targets() -> None:
    store = graph_of([("a", "p", "m.0x1"), ("m.0x1", "q", "b"), ("a", "p", "m.Fine")])
    assert texts(store, options(direction="out"), "a") == ["a -> p -> m.Fine", "a -> p -> m.0x1 -> q -> b"]
    assert len(texts(store, options(direction="out", skip_ids=""), "a")) == 3


@pytest.mark.parametrize(
    ("ties", "ends"),
    [
        ("target", ["b", "c", "c", "d", "h", "h"]),
        ("seed_target", ["b", "c", "h", "c", "d", "h"]),
        ("hub_last", ["b", "d", "c", "c", "h", "h"]),
    ],
)
def test_equally_long_paths_are_ordered_by_a_rule(ties: TieRule, ends: list[str]) -> None:
    rows = [
        ("s", "p", "h"),
        ("s", "p", "b"),
        ("s", "p", "c"),
        ("a", "p", "d"),
        ("a", "p", "c"),
        ("a", "p", "h"),
    ]
    store = graph_of([*rows, ("h", "p", "h")])
    paths = found(store, options(direction="out", max_hop=1, ties=ties), "s", "a").paths
    assert [store.label(end) for end in paths.ends] == ends
    if ties == "seed_target":
        assert [store.label(one) for one in paths.nodes[:, 0]] == ["s"] * 3 + ["a"] * 3


def test_without_seeds_or_edges_there_are_no_paths() -> None:
    store = graph_of([("a", "p", "b")], alone=["z"])
    for retrieval in ("spr", "epr", "osar", "isar"):
        for seeds in ((), ("z",)):
            got = found(store, options(retrieval), *seeds, scorer=scorer_of("static"))
            assert len(got.paths) == 0
            assert got.use.scored == 0


# --- all simple paths


@given(triples, directions)
def test_all_simple_paths_are_found(rows: list[Triple], direction: str) -> None:
    store = graph_of(rows, alone=["a"])
    got = found(store, options("epr", direction=direction), "a")
    assert sorted(got.paths.verbalised.texts) == sorted(all_simple(rows, direction, "a"))
    assert not got.cut


@given(triples, st.integers(1, 30))
def test_a_cap_leaves_the_shortest_and_says_so(rows: list[Triple], most: int) -> None:
    store = graph_of(rows, alone=["a", "b"])
    everything = found(store, options("epr", direction="both"), "a", "b").paths
    got = found(store, options("epr", direction="both", most_paths=most), "a", "b")
    assert len(got.paths) == min(most, len(everything))
    assert got.cut == (most < len(everything))
    assert list(got.paths.lengths) == list(everything.lengths[:most])


# --- ranked as wholes


def test_whole_paths_are_ranked_and_texts_are_counted_once() -> None:
    store = graph_of([("s", "p", "a"), ("s", "p", "b"), ("b", "p", "c"), ("t", "p", "a")])
    scorer = WrittenScores({"s -> p -> b": 0.5, "s -> p -> b -> p -> c": 0.9, "t -> p -> a": 0.5})
    got = found(store, options("osar", direction="out", top_k=3), "s", "t", scorer=scorer)
    assert got.paths.verbalised.texts == ["s -> p -> b -> p -> c", "s -> p -> b", "t -> p -> a"]
    assert list(got.paths.scores) == [0.9, 0.5, 0.5]
    assert (got.use.scored, got.use.scored_tokens) == (4, 4)


# --- a growing beam


def test_a_beam_is_greedy_and_keeps_beginnings() -> None:
    store = graph_of([("s", "r1", "x"), ("s", "r2", "y"), ("x", "r3", "z"), ("y", "r4", "w")])
    scorer = WrittenScores(
        {
            "s -> r1 -> x": 0.9,
            "s -> r2 -> y": 0.8,
            "s -> r1 -> x -> r3 -> z": 0.1,
            "s -> r2 -> y -> r4 -> w": 0.99,
        }
    )
    own = options("isar", direction="out", beam=1, max_hop=2)
    assert texts(store, own, "s", scorer=scorer) == ["s -> r1 -> x", "s -> r1 -> x -> r3 -> z"]
    wider = texts(store, replace(own, beam=2), "s", scorer=scorer)
    assert wider == ["s -> r2 -> y -> r4 -> w", "s -> r1 -> x", "s -> r2 -> y", "s -> r1 -> x -> r3 -> z"]


@settings(deadline=None)
@given(triples, directions, st.integers(1, 3), st.booleans(), st.sampled_from(["static", "bm25", "random"]))
def test_beams_are_narrow_and_hold_their_beginnings(
    rows: list[Triple], direction: str, beam: int, revisit: bool, name: str
) -> None:
    store = graph_of(rows, alone=["a", "b"])
    own = options("isar", direction=direction, beam=beam, allow_revisit=revisit, max_hop=3)
    got = found(store, own, "a", "b", scorer=scorer_of(name)).paths  # type: ignore[arg-type]
    told = got.verbalised.texts
    assert len(set(told)) == len(told)
    edges = {" -> ".join(one) for one in walked(rows, direction)}
    for seed in "ab":
        of = [text.split(" -> ") for text in told if text.startswith(f"{seed} ->")]
        assert len(of) <= beam * 3
        for pieces in of:
            assert 3 <= len(pieces) <= 7
            assert len(pieces) == 3 or pieces[:-2] in of
            assert all(" -> ".join(pieces[at : at + 3]) in edges for at in range(0, len(pieces) - 2, 2))
            assert revisit or len(set(pieces[::2])) == len(pieces[::2])
    assert list(got.scores) == sorted(got.scores, reverse=True)


@given(triples, directions)
def test_a_wide_beam_finds_all_simple_paths(rows: list[Triple], direction: str) -> None:
    store = graph_of(rows, alone=["a"])
    own = options("isar", direction=direction, beam=100_000)
    assert set(texts(store, own, "a", scorer=scorer_of("random"))) == all_simple(rows, direction, "a")


@given(triples, st.randoms(use_true_random=False), st.sampled_from(["spr", "epr", "osar", "isar"]))
def test_the_order_of_triples_changes_no_paths(rows: list[Triple], drawn: random.Random, kind: str) -> None:
    mixed = list(rows)
    drawn.shuffle(mixed)
    own = options(kind, cap=2, beam=2)
    told = []
    for order in (rows, mixed):
        got = found(graph_of(order, alone=["a", "b"]), own, "a", "b", scorer=scorer_of("static")).paths
        told.append((got.verbalised.texts, list(got.scores)))
    assert told[0] == told[1]


def test_of_many_edges_the_best_or_the_first_are_followed() -> None:
    rows = [("s", relation, end) for relation, end in itertools.product("pq", "abcd")]
    store = graph_of(rows)
    scorer = WrittenScores({"s -> q -> d": 0.9, "s -> q -> a": 0.8, "s -> p -> c": 0.1})
    own = options("isar", direction="out", cap=2)
    assert texts(store, own, "s", scorer=scorer) == ["s -> q -> d", "s -> q -> a"]
    first = replace(own, expansion="first", cap=3)
    assert sorted(texts(store, first, "s", scorer=scorer)) == ["s -> p -> a", "s -> p -> b", "s -> p -> c"]


def test_a_path_may_come_back_where_that_is_allowed() -> None:
    store = graph_of([("a", "p", "b")])
    own = options("isar", direction="both", allow_revisit=True, max_hop=2)
    assert texts(store, own, "a", scorer=WrittenScores()) == ["a -> p -> b", "a -> p -> b -> ~p -> a"]
    assert texts(store, replace(own, allow_revisit=False), "a", scorer=WrittenScores()) == ["a -> p -> b"]


def test_namesakes_are_walked_apart_and_told_once() -> None:
    store = graph_of([("s", "p", "x1"), ("s", "p", "x2"), ("x2", "q", "y")])
    same = replace(store, label_of=_alike(store, "x1", "x2"))
    for kind in ("osar", "isar"):
        got = texts(same, options(kind, direction="out"), "s", scorer=WrittenScores())
        assert sorted(got) == ["s -> p -> x1", "s -> p -> x1 -> q -> y"]


def _alike(store: PathStore, one: str, other: str) -> np.ndarray:
    labels = store.label_of.copy()
    labels[node(store, other)] = labels[node(store, one)]
    return labels


def test_paths_know_their_edges() -> None:
    store = graph_of([("a", "p", "b"), ("c", "q", "b")])
    got: Paths = found(store, options("isar", direction="both"), "a", scorer=WrittenScores()).paths
    assert got.verbalised.texts == ["a -> p -> b", "a -> p -> b -> ~q -> c"]
    assert got.edges[:, 0].tolist() == [0, 0]
    assert got.edges[0, 1] == NONE
    assert got.inverse[1].tolist()[:2] == [False, True]
    assert got.nodes[1].tolist()[:3] == [node(store, one) for one in "abc"]


# --- switches without a model


def test_triples_alone_can_rank_a_beam() -> None:
    store = graph_of([("s", "p", "a"), ("a", "q", "b"), ("a", "r", "c")])
    scorer = WrittenScores({"s -> p -> a": 0.1, "a -> r -> c": 0.9, "s -> p -> a -> q -> b": 0.8})
    own = options("isar", direction="out", beam=1)
    assert "s -> p -> a -> q -> b" in texts(store, own, "s", scorer=scorer)
    by_triples = replace(own, switches=Switches(triple_level=True))
    assert texts(store, by_triples, "s", scorer=scorer) == ["s -> p -> a", "s -> p -> a -> r -> c"]


@pytest.mark.parametrize(
    ("scores", "percentile", "kept"),
    [
        ([0.2, 0.2, 0.2], None, 3),
        ([1, 0, 0], None, 1),
        ([4, 3, 2, 1, 0], 75.0, 2),
        ([3, 2, 1, 0], None, 2),
        ([0.5], None, 1),
        (list(range(100)), 0.0, 8),
    ],
)
def test_pruning_follows_the_scores(scores: list[float], percentile: float | None, kept: int) -> None:
    store = graph_of([("s", "p", f"n{place:02}") for place in range(len(scores))])
    scorer = WrittenScores({f"s -> p -> n{place:02}": score for place, score in enumerate(scores)})
    switches = Switches(dynamic_prune=True, percentile=percentile)
    own = options("isar", direction="out", beam=2, switches=switches)
    assert len(texts(store, own, "s", scorer=scorer)) == kept


def test_the_number_of_steps_chooses_between_switches() -> None:
    class Hops:
        def __init__(self, number: int) -> None:
            self.number = number

        def hops(self, question: str) -> int:
            return self.number

    store = graph_of([("s", "p", "a"), ("s", "p", "b"), ("s", "p", "c"), ("a", "q", "d")])
    scorer = WrittenScores({"s -> p -> a": 1.0}, otherwise=0.1)
    own = options("isar", direction="out", beam=2, max_hop=1, switches=Switches(combine=True))
    assert texts(store, own, "s", scorer=scorer, hops=Hops(1)) == ["s -> p -> a"]
    assert texts(store, own, "s", scorer=scorer, hops=Hops(2)) == ["s -> p -> a", "s -> p -> b"]
    assert texts(store, own, "s", scorer=scorer)
