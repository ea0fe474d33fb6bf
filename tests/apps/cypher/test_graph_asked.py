"""The way ``graph`` over a real index, wherever it is asked."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from graphrag_dagster import Filters, Index
from graphrag_dagster.apps.cypher import property_graph as graph_queries
from support.commands import Run
from support.homes import copy_home
from support.traces import column, fact, section_told

FACT, THEMES, BOTH = (
    "Who led the Dockers Union?",
    "What are the main themes?",
    "What are the main conflicts around Tallow Marine?",
)


def test_each_route_answers_with_words_of_the_documents(index: Index) -> None:
    for question, route, kinds in (
        (FACT, "local", {"entity", "relationship"}),
        (THEMES, "global", {"report"}),
        (BOTH, "hybrid", {"entity", "relationship"}),
    ):
        answer = index.ask(question, method="graph")
        assert (fact(answer, "Route through the graph", "route"), answer.level, answer.refused) == (
            route,
            1,
            False,
        )
        assert {source.kind for source in answer.sources} <= kinds
        assert all(source.evidence for source in answer.sources)
        assert (answer.unsupported, answer.usage.calls) == (0, 0)
        (told_so,) = (
            one
            for one in json.loads(json.dumps(answer.to_dict()))["trace"]
            if one["title"] == "Route through the graph"
        )
        assert told_so["rows"][0][0] == route
    assert "Hanna Quill" in index.ask(FACT, method="graph").text


def test_the_query_is_shown_with_its_rows(index: Index) -> None:
    answer = index.ask(FACT, method="graph")
    queries = section_told(answer, "Queries")
    assert set(queries.column("over")) == {"property graph"}
    place = queries.column("made by").index("template around")
    around, values, rows = (queries.column(one)[place] for one in ("query", "values", "rows"))
    assert around.startswith("MATCH (h:Entity)-[r:RELATED]->(t:Entity)")
    ran = index.cypher(around, json.loads(values))
    assert len(ran.found.rows) == rows == fact(answer, "Route through the graph", "relationships found")
    assert fact(answer, "Route through the graph", "not over the property graph") is None
    assert [one.task for one in answer.steps] == ["query"] * len(queries.rows) + ["answer"]


def test_without_the_database_of_graphs_the_tables_give_the_same(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_it = {question: index.ask(question, method="graph") for question in (FACT, BOTH)}
    monkeypatch.setattr(graph_queries, "find_spec", lambda name: None)
    for question, whole in with_it.items():
        found = index.ask(question, method="graph")
        assert (found.text, found.context, found.sources) == (whole.text, whole.context, whole.sources)
        assert set(column(found, "Queries", "over")) == {"tables"}
        assert "the extra graph-db is not installed" in (found.why or "")


def test_a_graph_that_was_published_since_is_not_asked(index: Index) -> None:
    own = index.searcher.index
    assert isinstance(own.graph, graph_queries.CorpusGraph)
    index.searcher.index = replace(own, graph=replace(own.graph, index="another"))
    answer = index.ask(FACT, method="graph")
    assert "Hanna Quill" in answer.text
    assert "another index has been published" in (answer.why or "")


def test_levels_filters_and_conversations(index: Index) -> None:
    assert index.ask(THEMES, method="graph", level="C0").level == 0
    inside = index.ask(FACT, method="graph", filters=Filters(folders=("news",)))
    assert "Hanna Quill" in inside.text
    assert set(column(inside, "Queries", "over")) == {"tables"}
    assert all(source.evidence.path.startswith("news/") for source in inside.sources)  # type: ignore[union-attr]
    gone_on = index.ask("And who accused whom?", method="graph", history=[(FACT, "Hanna Quill.")])
    assert fact(gone_on, "Route through the graph", "route") == "local"


def test_nothing_is_made_up(index: Index) -> None:
    answer = index.ask("Who painted the ceiling of Zorblatt Chapel?", method="graph")
    assert answer.refused
    assert "it names no entity of the graph" in (answer.why or "")


@pytest.fixture
def copied(coterag_home: Path, home: Path) -> Path:
    return copy_home(coterag_home, home)


@pytest.mark.usefixtures("copied")
def test_the_terminal_answers_and_tells_how(run: Run) -> None:
    code, out, _ = run("ask", "coast", FACT, "--method", "graph", "--level", "C0")
    assert code == 0
    assert "Hanna Quill led the Dockers Union" in " ".join(out.split())
    assert "local: it names" in out
    code, out, _ = run("ask", "coast", FACT, "--method", "graph", "--trace")
    assert code == 0
    told = " ".join(out.replace("│", " ").split())
    for part in (
        "route: local",
        "chosen by: rules",
        "property graph",
        "MATCH (h:Entity)",
        "relationship",
    ):
        assert part in told
    code, out, _ = run("ask", "coast", FACT, "--method", "graph", "--json")
    cited = next(one for one in json.loads(out)["sources"] if one["kind"] == "relationship")
    code, out, _ = run("why", "coast", "relationship", cited["record_id"])
    assert code == 0
    assert "Dockers Union" in out


def test_a_plan_tells_what_a_question_takes(index: Index) -> None:
    size = index.searcher.size("graph")
    assert size.calls.low <= 1 <= size.calls.high
    assert sum(use.tokens for use in index.ask(FACT, method="graph").context) <= size.input_tokens.high


def test_an_answer_by_rule_lists_the_edges_of_what_is_named_each_with_its_source(index: Index) -> None:
    answer = index.ask("Who is connected to Hanna Quill?", method="graph")
    _, _, listed = answer.text.partition("**In the graph**")
    lines = [line for line in listed.splitlines() if line.startswith("- ")]
    assert 0 < len(lines) <= min(fact(answer, "Route through the graph", "relationships found"), 10)
    assert all("Hanna Quill" in line and line.endswith("]") for line in lines)
    assert not any("co occurs" in line or "related to" in line for line in lines)
    assert {source.kind for source in answer.sources} >= {"relationship"}
