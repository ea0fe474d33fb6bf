"""Graphs as the CSV files of Neo4j's importer."""

import json
from pathlib import Path

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
