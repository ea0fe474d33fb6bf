"""Templates of node queries: over the property graph and over the tables they give the same rows."""

import random
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.cypher.property_graph import CorpusGraph, QueryableGraph
from graphrag_dagster.apps.cypher.settings import CypherSettings
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.snapshot_opening import open_snapshot
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.search.graph_query_templates import (
    NodeQuestion,
    attributes,
    members,
    members_question,
    neighbours_question,
    path,
    rows_of,
    stored_summaries,
)
from support.homes import enter_home
from support.triple_graphs import publish_triples


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> tuple[IndexSnapshot, QueryableGraph]:
    """A random graph with edges of several labels between the same two, either way, and a hub."""
    made = random.Random(7)
    names = [f"n{number}" for number in range(30)]
    triples = [(made.choice(names), made.choice("rqs"), made.choice(names)) for _ in range(70)]
    triples += [("hub", "to", name) for name in names[:20]] + [("far", "to", "away")]
    triples += [("hub", f"label {number}", f"leaf {number}") for number in range(110)]
    warehouse = Warehouse(path=str(tmp_path_factory.mktemp("dense") / "{corpus}.duckdb"))
    publish_triples(warehouse, "dense", triples)
    return open_snapshot(warehouse, "dense"), CorpusGraph(warehouse, "dense", CypherSettings())


def same(index: IndexSnapshot, graph: QueryableGraph, question: NodeQuestion) -> list[dict[str, Any]]:
    found = [dict(row) for row in graph.run(question.text, question.parameters).found.objects()]
    assert found == rows_of(question, index), question.reading
    return found


def named(*names: str) -> dict[str, str]:
    return {stable_id(name): name for name in names}


def ends(*names: str) -> list[tuple[str, str]]:
    return [(stable_id(name), name) for name in names]


def test_edges_around_entities(dense: tuple[IndexSnapshot, QueryableGraph]) -> None:
    assert same(*dense, neighbours_question(named("n1", "n2")))
    assert len(same(*dense, neighbours_question(named("hub")))) == 100
    of_label = same(*dense, neighbours_question(named("n1", "n3", "hub"), ["r", "to"]))
    assert {row["relation"] for row in of_label} == {"r", "to"}
    part = list(named("n1", "n2", "n3", "n4", "n5", "n6", "hub"))
    within = same(*dense, neighbours_question(named("n1", "n2"), within=part))
    assert within
    assert {row["head_id"] for row in within} | {row["tail_id"] for row in within} <= set(part)
    assert not same(*dense, neighbours_question(named("nobody")))


def test_edges_inside_of_a_part(dense: tuple[IndexSnapshot, QueryableGraph]) -> None:
    assert len(same(*dense, members_question(named(*(f"n{number}" for number in range(30)))))) > 30
    assert not same(*dense, members_question(named("far")))


@pytest.mark.parametrize(
    ("first", "second", "steps"),
    [
        ("n1", "n2", {1}),
        ("hub", "leaf 9", {1}),
        ("leaf 1", "leaf 2", {2}),
        ("n25", "leaf 3", {3, 4}),
        ("hub", "away", set()),
    ],
)
def test_shortest_paths(
    dense: tuple[IndexSnapshot, QueryableGraph], first: str, second: str, steps: set[int]
) -> None:
    found = same(*dense, path(*ends(first, second)))
    assert len({row["steps"] for row in found}) <= 1
    assert {row["steps"] for row in found} <= steps
    assert bool(found) == bool(steps)
    assert all(len(row["entities"]) == row["steps"] + 1 for row in found)
    assert all(
        (row["entities"][0], row["entities"][-1]) == (stable_id(first), stable_id(second)) for row in found
    )


def test_what_is_told_of_entities_and_members_of_communities(
    indexed_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_home(monkeypatch, indexed_home)
    index = Index.open("coast").searcher.index
    assert index.graph
    entities = dict(index.entities.select("entity_id", "title").iter_rows())
    told = same(index, index.graph, attributes(entities))
    assert len(told) == len(entities)
    assert all(row["description"] for row in told)
    communities = dict(index.reports.select("report_id", "title").iter_rows())
    assert same(index, index.graph, members(communities))
    stored = same(index, index.graph, stored_summaries(communities))
    assert len(stored) == len(communities)
    assert all(row["summary"] for row in stored)
    one = next(iter(communities))
    assert {row["entity_id"] for row in same(index, index.graph, members({one: ""}))} == set(
        index.members.filter(community_id=one)["entity_id"]
    )
    assert same(index, index.graph, neighbours_question(entities))
