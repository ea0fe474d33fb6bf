"""Subgraphs of which only what fits the question is kept."""

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, store_of
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import ExtractedSubgraph
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from support.path_graphs import Triple, graph_of, node
from support.path_judges import WrittenScores, WrittenSelector

STORE = graph_of([("s", "p", "a"), ("s", "p", "b"), ("a", "p", "c"), ("s", "q", "d")])


def pruned(
    store: PathStore = STORE,
    scorer: WrittenScores | None = None,
    selector: WrittenSelector | None = None,
    seed: str = "s",
    **options: Any,
) -> ExtractedSubgraph:
    wanted = PathOptions(direction="both", pruning="llm" if selector else "eem", **options)
    extractor = extractor_of(wanted, store, scorer=scorer or WrittenScores(), selector=selector)
    return extractor.extract(PathQuery("who?", (node(store, seed),)))


def only(*wanted: str) -> WrittenSelector:
    return WrittenSelector(lambda _, texts: [place for place, text in enumerate(texts) if text in wanted])


def edges(found: ExtractedSubgraph) -> list[str]:
    return sorted(found.subgraph.triples().texts)


def nodes(found: ExtractedSubgraph) -> list[str]:
    return [found.subgraph.store.label(one) for one in found.subgraph.nodes]


def test_a_relation_is_kept_with_all_its_triples() -> None:
    found = pruned(scorer=WrittenScores({"p": 1}), pruning_level="relation", max_edge=1)
    assert edges(found) == ["a -> p -> c", "s -> p -> a", "s -> p -> b"]
    assert (found.use.scored, found.use.scored_tokens) == (2, 2)


def test_so_many_relations_as_there_are_change_nothing_and_are_not_scored() -> None:
    scorer = WrittenScores()
    assert len(edges(pruned(scorer=scorer, pruning_level="relation", max_edge=2))) == 4
    assert scorer.asked == []


def test_a_seed_is_kept_when_all_its_edges_vanish() -> None:
    found = pruned(scorer=WrittenScores({"p": 1}), seed="d", pruning_level="relation", max_edge=1)
    assert nodes(found) == ["a", "b", "c", "d", "s"]
    assert "s -> q -> d" not in edges(found)


def test_triples_are_kept_one_by_one() -> None:
    found = pruned(scorer=WrittenScores({"s -> q -> d": 1}), pruning_level="triple", max_triples=2)
    assert edges(found) == ["a -> p -> c", "s -> q -> d"]
    assert nodes(found) == ["a", "c", "d", "s"]


def test_nodes_are_kept_with_the_edges_among_them() -> None:
    found = pruned(scorer=WrittenScores({"a": 2, "c": 1}), pruning_level="node", max_nodes=2)
    assert edges(found) == ["a -> p -> c", "s -> p -> a"]
    assert nodes(found) == ["a", "c", "s"]


def test_what_is_pruned_goes_by_the_relations_of_the_graph() -> None:
    assert edges(pruned(scorer=WrittenScores({"s -> q -> d": 1}), max_triples=1)) == ["s -> q -> d"]
    by_relation = pruned(scorer=WrittenScores({"q": 1}), max_edge=1)
    assert edges(by_relation) == ["s -> q -> d"]


def test_a_selector_selects_once_among_the_best() -> None:
    selector = only("s -> p -> b", "a -> p -> c")
    scorer = WrittenScores({"s -> p -> b": 3, "s -> q -> d": 2})
    found = pruned(scorer=scorer, selector=selector, pruning_level="triple", max_triples=2)
    assert selector.asked == [("triple", ["s -> p -> b", "s -> q -> d"], 2)]
    assert edges(found) == ["s -> p -> b"]
    assert found.use.empty == 0


@pytest.mark.parametrize("level", ["node", "relation", "triple"])
def test_an_empty_selection_leaves_the_seeds_and_is_counted(level: str) -> None:
    found = pruned(selector=only(), pruning_level=level)
    assert nodes(found) == ["s"]
    assert edges(found) == []
    assert (found.use.empty, found.use.problems, found.use.usage.calls) == (1, ("nothing named",), 1)


def test_where_nothing_can_be_selected_nobody_is_asked() -> None:
    selector = only()
    store = graph_of([("a", "p", "b")], alone="z")
    found = pruned(store, selector=selector, seed="z", pruning_level="triple")
    assert selector.asked == []
    assert nodes(found) == ["z"]


def test_namesakes_are_one_unit() -> None:
    entities = pl.DataFrame(
        {"entity_id": ["1", "2", "3", "4"], "name": ["A", "B", "C", "D"], "title": ["x", "x", "hub", "y"]}
    )
    rows = pl.DataFrame({"head_id": ["3", "3", "3"], "relation": ["p"] * 3, "tail_id": ["1", "2", "4"]})
    store = store_of(entities, rows)
    scorer = WrittenScores({"hub -> p -> x": 1})
    found = pruned(store, scorer=scorer, seed="hub", pruning_level="triple", max_triples=1)
    assert edges(found) == ["hub -> p -> x"] * 2
    assert list(map(len, scorer.asked)) == [2]


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("pqr"), st.sampled_from("abcd"))),
    st.randoms(use_true_random=False),
    st.sampled_from(["node", "relation", "triple"]),
    st.integers(1, 3),
)
def test_the_order_of_triples_changes_nothing(
    rows: list[Triple], drawn: random.Random, level: str, most: int
) -> None:
    mixed = list(rows)
    drawn.shuffle(mixed)
    windows = {"max_nodes": most, "max_edge": most, "max_triples": most}
    one, other = (
        pruned(graph_of(each, alone="abcd"), seed="a", pruning_level=level, **windows)
        for each in (rows, mixed)
    )
    assert (edges(one), nodes(one)) == (edges(other), nodes(other))
    assert "a" in nodes(one)


@pytest.mark.parametrize(("pruning", "told"), [("eem", "needs a scorer"), ("llm", "needs a selector")])
def test_who_judges_must_be_there(pruning: Any, told: str) -> None:
    scorer = WrittenScores() if pruning == "llm" else None
    with pytest.raises(GraphragError, match=told):
        extractor_of(PathOptions(pruning=pruning), STORE, scorer=scorer)
