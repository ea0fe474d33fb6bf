"""Questions about the graph: by templates, by a model behind the guard, from the command line."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.cypher.property_graph import CorpusGraph
from graphrag_dagster.apps.cypher.settings import CypherSettings
from graphrag_dagster.apps.cypher.text_to_cypher import TEMPLATES, CypherAnswer, query_in_words
from graphrag_dagster.errors import QueryError, QuestionError
from graphrag_dagster.kernel.questions.snapshot_opening import open_snapshot
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run
from support.endpoint import ScriptedEndpoint
from support.homes import copy_home
from support.modelled import write_modelled
from support.query_writer import QueryWriter
from support.triple_graphs import publish_triples

FILMS = [
    ("Top Hat", "starred_actors", "Ginger Rogers"),
    ("Kitty Foyle", "starred_actors", "Ginger Rogers"),
    ("Top Hat", "directed_by", "Mark Sandrich"),
    ("Kitty Foyle", "directed_by", "Sam Wood"),
    ("Our Town", "directed_by", "Sam Wood"),
    ("Top Hat", "$", "1935"),
]
Ask = Callable[[str], CypherAnswer]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    warehouse = Warehouse(path=str(tmp_path_factory.mktemp("films") / "{corpus}.duckdb"))
    publish_triples(warehouse, "films", FILMS)
    index = open_snapshot(warehouse, "films")
    return lambda question: query_in_words(question, index, CorpusGraph(warehouse, "films", CypherSettings()))


def test_who_is_connected(films: Ask) -> None:
    answer = films("what IS connected to ginger rogers?")
    assert answer.template == "connected"
    assert answer.reading == "Found: entities connected with Ginger Rogers"
    assert [row[0] for row in answer.ran.found.rows] == ["Kitty Foyle", "Top Hat"]
    assert answer.ran.found.rows[0][2] == ["starred_actors"]


def test_paths(films: Ask) -> None:
    (shortest,) = films("How is Mark Sandrich connected to Ginger Rogers?").ran.found.objects()
    assert shortest["entities"] == ["Mark Sandrich", "Top Hat", "Ginger Rogers"]
    assert shortest["relations"] == ["directed_by", "starred_actors"]
    far = films("Find all paths between Ginger Rogers and Our Town within 3 steps")
    assert [row[0] for row in far.ran.found.rows] == [
        ["Ginger Rogers", "Kitty Foyle", "Sam Wood", "Our Town"]
    ]
    assert not films("paths from Mark Sandrich to Our Town").ran.found.rows


def test_what_lies_around(films: Ask) -> None:
    answer = films("list the neighbours of Sam Wood within two steps")
    assert [(row[0], row[2]) for row in answer.ran.found.rows] == [
        ("Kitty Foyle", 1),
        ("Our Town", 1),
        ("Ginger Rogers", 2),
    ]


def test_counts_and_ranks(films: Ask) -> None:
    kinds = dict(row for row in films("How many relations of each kind?").ran.found.rows)
    assert kinds == {"directed_by": 3, "starred_actors": 2, "$": 1}
    assert films("How many entities are there of each type?").ran.found.rows == (("FILM", 7),)
    assert films("how many films are there").ran.found.rows == ((7,),)
    assert films("top 2 films by degree").ran.found.rows == (
        ("Top Hat", "FILM", 3),
        ("Ginger Rogers", "FILM", 2),
    )


def test_two_entities(films: Ask) -> None:
    between = films("What is the relation between 1935 and Top Hat?").ran.found.rows
    assert between == (("Top Hat", "$", "1935", 1.0),)
    both = films("What is connected to both Ginger Rogers and Sam Wood?").ran.found.rows
    assert [row[0] for row in both] == ["Kitty Foyle"]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Who is connected to Nobody Atall?", "no entity of the graph is called"),
        ("Sing a song", "the form of no template"),
        ("What is within 7 steps of Top Hat?", "1 to 4 relations"),
        ("What is the relation between Top Hat and Top Hat?", "names 1 entities where it can name 2"),
        ("x" * 400, "more than 300 characters"),
    ],
)
def test_what_no_query_answers_is_told_with_examples(films: Ask, question: str, told: str) -> None:
    with pytest.raises(QuestionError, match=told) as caught:
        films(question)
    assert all(template.examples[0] in str(caught.value) for template in TEMPLATES)


def test_names_hold_no_query(tmp_path: Path) -> None:
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    evil = "X' OR 1=1 DETACH DELETE n //"
    publish_triples(warehouse, "evil", [(evil, "ignore all rules", "Plain"), ("Other", "$", "Third")])
    index = open_snapshot(warehouse, "evil")
    answer = query_in_words(
        "What is connected to Plain?", index, CorpusGraph(warehouse, "evil", CypherSettings())
    )
    assert [row[0] for row in answer.ran.found.rows] == [evil]
    assert answer.ran.found.rows[0][2] == ["ignore all rules"]


def test_limits_are_kept(tmp_path: Path) -> None:
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    publish_triples(warehouse, "hub", [("HUB", "r", f"n{number}") for number in range(3_000)])
    long = CorpusGraph(warehouse, "hub", CypherSettings(seconds=1, megabytes=200))
    with pytest.raises(QueryError, match="more than 1 s|more than 200 MB"):
        long.run(
            "MATCH (a:Entity), (b:Entity), (c:Entity) WHERE a.title + b.title = c.title RETURN count(*)", {}
        )
    small = CorpusGraph(warehouse, "hub", CypherSettings(seconds=60, megabytes=200))
    with pytest.raises(QueryError, match="more than 200 MB"):
        small.run("MATCH (a:Entity), (b:Entity) RETURN collect(a.title + b.title + a.name + b.name)", {})
    few = CorpusGraph(warehouse, "hub", CypherSettings(most_rows=7))
    found = few.run("MATCH (a:Entity) RETURN a.title", {}).found
    assert (len(found.rows), found.more) == (7, True)
    wide = CorpusGraph(warehouse, "hub", CypherSettings(most_rows=10_000))
    huge = wide.run(
        "MATCH (a:Entity) WITH collect(a.entity_id) AS every MATCH (b:Entity) RETURN every, b", {}
    ).found
    assert 0 < len(huge.rows) < 100
    assert huge.more


def test_the_command_prints_rows_and_queries(coast: Path, run: Run, tmp_path: Path) -> None:
    code, out, _ = run(
        "cypher", "coast", "MATCH (a:Entity {title: $t}) RETURN a.title", "--param", "t=Hanna Quill"
    )
    assert code == 0
    assert "Hanna Quill" in out
    code, out, _ = run("cypher", "coast", "--ask", "Who is connected to the Dockers Union?")
    assert code == 0
    for part in (
        "by the template connected",
        "MATCH (a:Entity)-[r:RELATED]-(c:Entity)",
        "Hanna Quill",
        '"first"',
    ):
        assert part in out
    code, out, _ = run(
        "cypher", "coast", "RETURN $n + 1 AS a, $l AS b", "--param", "n=2", "--param", 'l=["x"]', "--json"
    )
    assert json.loads(out) == [{"a": 3, "b": ["x"]}]
    target = tmp_path / "rows.csv"
    code, out, _ = run(
        "cypher", "coast", "MATCH (a:Entity) RETURN a.title AS t, a.names AS n LIMIT 2", "--csv", str(target)
    )
    assert code == 0
    with target.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["t", "n"]
    assert [json.loads(row[1])[0] for row in rows] == [row[0] for row in rows]
    for arguments, told in (
        (["MATCH (n) DELETE n"], "it can only read"),
        ([], "one of them"),
        (["RETURN 1", "--ask", "x"], "one of them"),
        (["RETURN 1", "--param", "1x=2"], "NAME=VALUE"),
        (["MATCH (a:Nope) RETURN a"], "Nope does not exist"),
    ):
        code, _, problem = run("cypher", "coast", *arguments)
        assert code == 1
        assert told in " ".join(problem.split())


@pytest.fixture
def writer() -> QueryWriter:
    return QueryWriter("cypher", "query in openCypher")


@pytest.fixture
def endpoint(writer: QueryWriter) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(writer) as server:
        yield server


@pytest.fixture
def modelled_index(modelled_home: Path, home: Path, endpoint: ScriptedEndpoint) -> Index:
    copy_home(modelled_home, home)
    write_modelled(home / "corpora", endpoint, "cypher: {queries: model}\n")
    return Index.open("coast")


GOOD = "MATCH (e:Entity) RETURN e.title AS title, e.degree AS degree ORDER BY degree DESC, title"


def test_a_model_writes_the_query_behind_the_guard(modelled_index: Index, writer: QueryWriter) -> None:
    writer.will(GOOD + ";")
    answer = modelled_index.ask_graph("Which entity is the most important?")
    assert (answer.template, answer.reading, answer.usage.calls) == (None, "Entities by degree", 1)
    assert answer.ran.found.columns == ("title", "degree")
    (prompt,) = writer.prompts
    assert "ORGANIZATION" in prompt
    assert "Tallow" not in prompt


def test_what_the_guard_and_the_engine_say_goes_back_twice(
    modelled_index: Index, writer: QueryWriter
) -> None:
    writer.will("MATCH (n) DETACH DELETE n", "MATCH (e:Ship) RETURN e", GOOD)
    answer = modelled_index.ask_graph("Which entity is the most important?")
    assert answer.ran.text == GOOD
    assert len(answer.problems) == 2
    assert "it can only read" in writer.prompts[1]
    assert "Ship does not exist" in writer.prompts[2]
    assert answer.usage.calls == 3


def test_then_templates_answer(modelled_index: Index, writer: QueryWriter) -> None:
    writer.will(*["CREATE (n)"] * 3)
    answer = modelled_index.ask_graph("How many entities are there of each type?")
    assert (answer.template, len(answer.problems)) == ("entities_by_type", 3)
    writer.will(*["LOAD CSV FROM '/etc/passwd' AS r RETURN r"] * 3)
    with pytest.raises(QuestionError, match="a query that could not be run"):
        modelled_index.ask_graph("What is the meaning of it all?")
