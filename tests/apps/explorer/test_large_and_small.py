"""Communities of many, graphs of one or none, and what is drawn of them."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.graph_drawing import Drawn
from graphrag_dagster.apps.explorer.table_pages import Order
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.tables import core_tables as tables
from support.homes import enter_home
from support.made import publish_made, publish_rows
from support.published_graphs import MadeGraph, community_id, entity_id

LARGE = MadeGraph(50_000, relationships_each=1, mentions_each=1, sizes=(50_000, 5_000, 50))
MIDDLE = MadeGraph(3_000, relationships_each=3, mentions_each=1, sizes=(1_000, 100, 10))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    with pytest.MonkeyPatch.context() as patch:
        enter_home(patch, tmp_path_factory.mktemp("large"))
        yield publish_made(LARGE)


@pytest.fixture(scope="module")
def middle_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("middle")
    with pytest.MonkeyPatch.context() as patch:
        enter_home(patch, folder)
        publish_made(MIDDLE)
    return folder


@pytest.fixture
def middle(middle_home: Path, monkeypatch: pytest.MonkeyPatch) -> Explorer:
    enter_home(monkeypatch, middle_home)
    return Explorer("made")


def check(drawn: Drawn, most: int) -> None:
    assert len(drawn.nodes) <= most
    assert len(drawn.edges) <= 6_000
    assert sum(node.members for node in drawn.nodes) == drawn.entities == drawn.drawn + drawn.aggregated
    assert sum(node.kind == "entity" for node in drawn.nodes) == drawn.drawn
    assert len({node.id for node in drawn.nodes}) == len(drawn.nodes)
    assert all(0 <= one < other < len(drawn.nodes) for one, other, _ in drawn.edges)
    assert len({(one, other) for one, other, _ in drawn.edges}) == len(drawn.edges)
    weights = [weight for *_, weight in drawn.edges]
    assert weights == sorted(weights, reverse=True)
    places = {node.community for node in drawn.nodes} - {None}
    assert places == set(range(len(drawn.communities)))


@pytest.mark.long
def test_a_community_of_fifty_thousand(large: Explorer) -> None:
    whole = community_id(0, 0)
    page = large.community(whole)
    assert (page.size, page.members_total, len(page.members)) == (50_000, 50_000, 200)
    assert large.members(whole, 49_990, 100).members[-1].degree == 2
    assert len(large.members(whole, 49_990, 100).members) == 10
    assert large.members(whole, 10**9, 100).members == []
    cells = large.communities(whole, 2)
    assert cells.rest is not None
    assert (len(cells.cells), cells.rest.communities, cells.rest.size) == (400, 600, 30_000)
    drawn = large.drawn(within=whole, level=2)
    check(drawn, 2_000)
    assert [node.kind for node in drawn.nodes].count("rest") == 1
    assert drawn.nodes[-1].label.endswith(" more entities")


def test_what_is_too_much_is_drawn_as_communities(middle: Explorer) -> None:
    drawn = middle.drawn(level=1)
    check(drawn, 2_000)
    assert (drawn.entities, len(drawn.communities)) == (3_000, 30)
    assert [node.kind for node in drawn.nodes].count("community") == 11
    few = middle.drawn(level=2, most=40)
    check(few, 40)
    assert [node.kind for node in few.nodes] == ["entity"] * 30 + ["community"] * 9 + ["rest"]
    assert {node.community for node in few.nodes[-1:]} == {None}
    inside = middle.drawn(within=community_id(1, 3))
    check(inside, 2_000)
    assert (inside.level, inside.aggregated, len(inside.communities)) == (2, 0, 10)
    assert middle.drawn(level=1) == drawn


def test_edges_of_a_drawing_are_sums_of_relationships(middle: Explorer) -> None:
    drawn = middle.drawn(level=0, most=2_000)
    node_of = {node.id: place for place, node in enumerate(drawn.nodes)}
    of_entity = {}
    for number in range(MIDDLE.entities):
        own = node_of.get(entity_id(number))
        of_entity[entity_id(number)] = node_of[community_id(0, number // 1_000)] if own is None else own
    assert drawn.edges_left_out == 0
    wanted: dict[tuple[int, int], float] = {}
    page = middle.table("relationships", limit=10**6)
    names = [column.name for column in page.columns]
    for row in page.rows:
        told = dict(zip(names, row, strict=True))
        one, other = sorted((of_entity[str(told["source_id"])], of_entity[str(told["target_id"])]))
        if one != other:
            wanted[one, other] = wanted.get((one, other), 0) + float(str(told["weight"]))
    assert {(one, other): weight for one, other, weight in drawn.edges} == wanted


def test_positions_are_those_of_the_snapshot(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        enter_home(patch, tmp_path)
        seen = publish_made(MadeGraph(30, sizes=(10, 5, 5)))
        apart = {(node.x, node.y) for node in seen.drawn().nodes}
        assert len(apart) == 30
        (file,) = tmp_path.glob("warehouse/published/made/*.duckdb")
        file.chmod(0o644)
        with duckdb.connect(str(file)) as connection:
            connection.execute(
                "create or replace table graph.layout as select corpus, entity_id, human_readable_id::double as x, "
                "-1.0 as y from graph.entities where human_readable_id <> 0"
            )
        nodes = {node.id: node for node in seen.drawn(most=24).nodes}
        few = {node.id: (node.x, node.y) for node in seen.drawn().nodes}
    assert all(few[entity_id(n)] == (float(n), -1.0) for n in range(1, 30))
    # A community stands where the members that it stands for stand in the mean.
    assert (nodes[community_id(0, 2)].x, nodes[community_id(0, 2)].members) == (24.5, 10)


def test_an_empty_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter_home(monkeypatch, tmp_path)
    seen = publish_rows({})
    found = seen.overview()
    assert (found.counts.entities, found.levels, found.default_level, found.notes) == (0, [], 0, [])
    assert (seen.communities().cells, seen.communities(measure="tokens").rest) == ([], None)
    drawn = seen.drawn()
    assert (drawn.nodes, drawn.edges, drawn.entities, drawn.level) == ([], [], 0, 0)
    assert seen.find("anything").entities_total == 0
    assert {view.rows for view in seen.tables()} == {0}
    assert seen.table("entities", Order(words="x")).rows == []
    assert "".join(seen.csv("files")).count("\n") == 1
    with pytest.raises(QuestionError, match="it has no communities"):
        seen.communities(level=0)


def test_one_entity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter_home(monkeypatch, tmp_path)
    rows = {"entity_id": ["e1"], "name": ["ALONE"], "title": ["Alone"], "names": [["Alone"]]}
    seen = publish_rows({tables.ENTITIES: rows})
    page = seen.entity("e1")
    assert (page.neighbours, page.communities, page.mentions.total, page.documents) == ([], [], 0, 0)
    (node,) = seen.drawn().nodes
    assert (node.label, node.x, node.y, node.community) == ("Alone", 0.0, 0.0, None)
    assert seen.overview().unclustered == 1
    assert seen.why("entity", "e1").title == "Alone"
