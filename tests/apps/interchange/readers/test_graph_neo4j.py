"""Graphs as the CSV files of Neo4j's importer."""

import json
from pathlib import Path

from graphrag_dagster.apps.interchange.graph_rows.graph_columns import GraphColumns
from support.graphs import read_folder


def test_nodes_and_relationships_of_a_folder_are_one_graph(tmp_path: Path) -> None:
    folder = tmp_path / "movies"
    folder.mkdir()
    (folder / "people.csv").write_text(
        "personId:ID(Person),name,born:int,aka:string[],secret:IGNORE,alive:boolean,:LABEL\n"
        "1,Keanu,1964,Neo;The One,x,true,Person;Actor\n2,,many,,y,,\n,Nobody,,,,,Person\n"
    )
    (folder / "films.csv").write_text(":ID(Film){label:Film};title;:LABEL\n1;The Matrix;Film\n")
    (folder / "roles.csv").write_text(
        ":START_ID(Person),role,rating:float,:END_ID(Film),:TYPE\n1,Neo,8.5,1,ACTED_IN\n1,,,,ACTED_IN\n"
    )
    (folder / "other.csv").write_text("head,tail\nA,B\n")
    read = read_folder(tmp_path)
    assert [(graph.name, len(graph.files), graph.declares_entities) for graph in read.graphs] == [
        ("movies", 3, True),
        ("movies/other.csv", 1, False),
    ]
    told = [(row["key"], row["title"], row["type"]) for row in read.rows("entities")]
    assert told == [
        ("Film:1", "The Matrix", "Film"),
        ("Person:1", "Keanu", "Person"),
        ("Person:2", "Person:2", "UNKNOWN"),
    ]
    attributes = [json.loads(row["attributes"]) for row in read.rows("entities")]
    assert attributes == [
        {},
        {
            "personId": "1",
            "born": 1964,
            "aka": ["Neo", "The One"],
            "alive": True,
            "labels": ["Person", "Actor"],
        },
        {"personId": "2", "born": "many"},
    ]
    role, other = read.rows("relations")
    assert (role["head_key"], role["relation"], role["tail_key"]) == ("Person:1", "acted_in", "Film:1")
    assert json.loads(role["attributes"]) == {"role": "Neo", "rating": 8.5}
    assert other["graph"] == "movies/other.csv"
    assert read.account() == {
        ("entities", "read"): 2,
        ("entities", "repaired"): 1,
        ("entities", "malformed"): 1,
        ("relations", "read"): 2,
        ("relations", "malformed"): 1,
    }
    assert read.column("repaired", "reason") == ["born is declared as int, which 'many' is not"]
    assert read.column("notes", "note") == ["the column secret:IGNORE was left out, as it says"]


def test_a_file_without_its_ids_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("name,:LABEL\nKeanu,Person\n")
    (tmp_path / "edges.csv").write_text(":START_ID,:END_ID\n1,2\n")
    read = read_folder(tmp_path)
    assert read.failed == {"nodes.csv": "no column :ID, which its rows need; the columns are name, :LABEL"}
    assert read.column("relations", "head_key") == ["1"]


def test_ends_that_only_relationships_tell_of_are_read(tmp_path: Path) -> None:
    """As APOC exports a part of a graph, and as it orders lines or not."""
    ada, rome = {"name": "Ada"}, {"name": "Rome"}
    lines = [
        {"type": "relationship", "id": "0", "label": "LIVES_IN",
         "start": {"id": "7", "labels": ["Person"], "properties": ada},
         "end": {"id": "8", "labels": ["City", "Port"], "properties": rome}},
        {"type": "relationship", "id": "1", "label": "KNOWS", "properties": {"since": 1911},
         "start": {"id": "7", "labels": ["Person"]}, "end": {"id": "9", "properties": {"name": "Bo"}}},
        {"type": "node", "id": "8", "labels": ["City", "Port"], "properties": {**rome, "built": 1}},
        {"type": "node", "id": "6", "properties": {"name": "Without a label"}},
    ]  # fmt: skip
    (tmp_path / "part.json").write_text("\n".join(map(json.dumps, lines)))
    read = read_folder(tmp_path)
    entities = sorted((e["key"], e["title"], e["type"], e["row"]) for e in read.rows("entities"))
    assert entities == [
        ("6", "Without a label", "UNKNOWN", 4),
        ("7", "Ada", "Person", 5),
        ("8", "Rome", "City", 3),
        ("9", "Bo", "UNKNOWN", 6),
    ]
    told = [(one["head_key"], one["label"], one["tail_key"]) for one in read.rows("relations")]
    assert told == [("7", "LIVES_IN", "8"), ("7", "KNOWS", "9")]
    assert read.account() == {("entities", "read"): 4, ("relations", "read"): 2}


def test_places_of_columns_without_names_yield_to_a_header_file(tmp_path: Path) -> None:
    (tmp_path / "houses-header.csv").write_text("houseId:ID(House),name,:LABEL\n")
    (tmp_path / "houses.csv").write_text("1,Alderbrook Museum,House\n")
    guessed = {"houses.csv": GraphColumns(head="column_1", relation="column_2", tail="column_3")}
    read = read_folder(tmp_path, guessed)
    assert (read.column("entities", "title"), read.rows("relations")) == (["Alderbrook Museum"], [])


def test_json_of_just_the_bytes_that_are_looked_at_is_read(tmp_path: Path) -> None:
    graph = {"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}
    text = json.dumps(graph, indent=1)
    (tmp_path / "g.json").write_text(text + " " * ((1 << 20) - len(text)))
    assert read_folder(tmp_path).account() == {("entities", "read"): 2, ("relations", "read"): 1}
