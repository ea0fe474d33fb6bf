import csv
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import networkx as nx
import pytest

from graphrag_dagster.apps.interchange.exporting.graph_export import export
from graphrag_dagster.apps.interchange.exporting.neo4j_writer import SEPARATOR
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORTED_CLAIMS,
    IMPORTED_COMMUNITIES,
    IMPORTED_DOCUMENTS,
    IMPORTED_ENTITIES,
    IMPORTED_RELATIONS,
    IMPORTED_REPORTS,
    IMPORTED_TEXT_UNITS,
)
from support.imported import write_imported

NASTY = 'a <b> & "c"\r\nd\\e\t`f`;[]\'ü\u2028'
LINE = re.compile(
    r'^<[^\x00-\x20<>"{}|^`\\]+> <[^\x00-\x20<>"{}|^`\\]+> '
    r'(?:<[^\x00-\x20<>"{}|^`\\]+>|"(?:[^"\\\n\r]|\\[tbnrf"\'\\])*"(?:\^\^<[^\x00-\x20<>]+>)?) \.$'
)


def entity(row: int, key: str, **said: Any) -> dict[str, Any]:
    own = {"path": "g.json", "row": row, "graph": "g", "key": key, "name": f"N{key}", "title": key}
    read = {"type": "PERSON", "description": "", "text_unit_keys": ["u 1"]}
    return own | read | {"attributes": json.dumps(said)}


def relation(row: int, head: str, tail: str, label: str, **said: Any) -> dict[str, Any]:
    ends = {"head_key": head, "tail_key": tail, "head": f"N{head}", "tail": f"N{tail}"}
    own = {
        "path": "g.json",
        "row": row,
        "graph": "g",
        "key": None,
        "label": label,
        "relation": label or "related_to",
    }
    return (
        own
        | ends
        | {
            "weight": 2.5,
            "description": NASTY,
            "said": NASTY,
            "text_unit_keys": ["u 1"],
            "outcome": "read",
            "attributes": json.dumps(said),
        }
    )


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of a kind, by the header that the importer reads."""
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        header, *told = csv.reader(file)
    return [dict(zip(header, row, strict=True)) for row in told]


@pytest.fixture
def guest(home: Path) -> Path:
    """A graph with parallel relations, a loop, an end that is not declared, and names that mean something elsewhere."""
    at = {"path": "g.json", "graph": "g"}
    claim = {
        "key": "c",
        "subject": "Nb",
        "object": f"N{NASTY}",
        "type": "FACT",
        "status": "TRUE",
        "quote": "",
    }
    claim |= {"description": "led", "start_date": None, "end_date": None, "text_unit_key": "u 1"}
    top = {"row": 1, "key": "0", "parent_key": None, "level": 0, "title": "All", "entity_keys": [NASTY, "b"]}
    part = {"row": 2, "key": "1", "parent_key": "0", "level": 1, "title": "One", "entity_keys": ["b"]}
    report = {"row": 1, "key": "r", "community_key": "1", "level": 1, "title": "Of one", "summary": "s"}
    report |= {"content": "# Of one", "rating": 4.0, "rating_explanation": "", "findings": "[]"}
    unit = {"path": "g.json", "row": 1, "graph": "g", "key": "u 1", "document_keys": ["d"], "text": NASTY}
    unit |= {"text_unit_id": "h"}
    document = {"path": "g.json", "row": 1, "graph": "g", "key": "d", "title": "T", "text": ""}
    write_imported(
        "guest",
        {
            IMPORTED_DOCUMENTS: [document | {"attributes": "{}"}],
            IMPORTED_TEXT_UNITS: [unit | {"attributes": "{}"}],
            IMPORTED_ENTITIES: [
                entity(1, NASTY, born=1879, id="E1", **{'a:b`c/~"': [NASTY, "x"]}, big=2**63),
                entity(2, "b", born=1.5, Born=True, id="E2", type=None, years=[1879, -1], **{":id": "x"}),
            ],
            IMPORTED_RELATIONS: [
                relation(1, NASTY, "b", "knows", since=2001),
                relation(2, NASTY, "b", "knows", since=2002),
                relation(3, "b", "b", "`) DETACH DELETE n //"),
                relation(4, "b", "nowhere", ""),
            ],
            IMPORTED_CLAIMS: [at | {"row": 1} | claim | {"attributes": "{}"}],
            IMPORTED_COMMUNITIES: [
                at | top | {"attributes": '{"size": 2}'},
                at | part | {"attributes": "{}"},
            ],
            IMPORTED_REPORTS: [at | report | {"attributes": "{}"}],
        },
    )
    return home


def test_graphml_has_all_that_was_said_under_its_own_name(guest: Path) -> None:
    made = export("guest", "graphml", guest / "out")
    graph = nx.read_graphml(made.folder / "graph.graphml", force_multigraph=True)
    assert graph.is_directed()
    assert set(graph) == {NASTY, "b", "nowhere"}
    first, second = graph.nodes[NASTY], graph.nodes["b"]
    assert (first["born"], first["id"], "declared" in first) == (1879.0, "E1", False)
    assert json.loads(first['a:b`c/~"']) == [NASTY, "x"]
    assert first["big"] == str(2**63)
    assert (second["born"], second["Born"]) == (1.5, True)
    assert "type" not in second
    assert (json.loads(second["years"]), second[":id_2"]) == ([1879, -1], "x")
    assert graph.nodes["nowhere"] == {"declared": False, "title": "Nnowhere"}
    edges = sorted(
        (s, t, d.get("label", ""), d.get("since"), d["weight"]) for s, t, d in graph.edges(data=True)
    )
    assert edges == sorted(
        [
            (NASTY, "b", "knows", 2001, 2.5),
            (NASTY, "b", "knows", 2002, 2.5),
            ("b", "b", "`) DETACH DELETE n //", None, 2.5),
            ("b", "nowhere", "", None, 2.5),
        ]
    )
    assert {d["description"] for *_, d in graph.edges(data=True)} == {NASTY}


def test_every_line_of_rdf_is_a_triple(guest: Path) -> None:
    made = export("guest", "rdf", guest / "out")
    lines = (made.folder / "graph.nt").read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    assert not [line for line in lines if not LINE.match(line)]
    assert made.files[0].rows == len(lines)
    thing = "urn:graphrag-dagster:corpus:guest"
    known = [
        line for line in lines if line.startswith(f"<{thing}:entity:") and f"<{thing}:relation:knows>" in line
    ]
    assert [unquote(line.split("> ")[0].removeprefix(f"<{thing}:entity:")) for line in known] == [
        NASTY,
        NASTY,
    ]
    derived = "<http://www.w3.org/ns/prov#wasDerivedFrom>"
    assert f"<{thing}:statement:g.json%231> {derived} <{thing}:textUnit:u%201> ." in lines
    years = "<urn:graphrag-dagster:vocabulary:years>"
    of_b = [line.split('"')[1] for line in lines if line.startswith(f"<{thing}:entity:b> {years}")]
    assert of_b == ["1879", "-1"]
    assert f"<{thing}:textUnit:u%201> {derived} <{thing}:document:d> ." in lines


def test_neo4j_reads_back_what_was_said_and_obeys_none_of_it(guest: Path) -> None:
    made = export("guest", "neo4j", guest / "out")
    entities, stated = rows(made.folder, "Entity"), rows(made.folder, "Entity-STATED-Entity")
    # The property of the graph's own name keeps it: the key of the node has another.
    assert [(one["key:ID"], one["id:string"]) for one in entities] == [
        (NASTY, "E1"),
        ("b", "E2"),
        ("nowhere", ""),
    ]
    assert entities[1]["years:long[]"] == SEPARATOR.join(["1879", "-1"])
    assert entities[0]['a_b`c/~":string[]'].split(SEPARATOR) == [NASTY, "x"]
    assert [one[":TYPE"] for one in stated] == ["knows", "knows", "`) DETACH DELETE n //", "related_to"]
    assert [one["since:long"] for one in stated] == ["2001", "2002", "", ""]
    script = (made.folder / "load.cypher").read_text(encoding="utf-8")
    assert "DETACH" not in script
    assert 'n.`a_b``c/~"`' in script
    inside = re.sub(r"`(?:[^`]|``)*`", "", script)
    assert "`" not in inside


def test_lists_call_what_is_said_besides_by_another_name(guest: Path) -> None:
    made = export("guest", "triples", guest / "out")
    with (made.folder / "entities.csv").open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["id"], first["id_2"], first["type"]) == (NASTY, "E1", "PERSON")
    assert (second["id"], second["id_2"], second["type"]) == ("b", "E2", "PERSON")


def test_communities_reports_and_claims_come_along(guest: Path) -> None:
    made = export("guest", "neo4j", guest / "out")

    def ends(name: str) -> list[tuple[str, ...]]:
        return [tuple(one.values()) for one in rows(made.folder, name)]

    assert ends("Entity-IN_COMMUNITY-Community") == [(NASTY, "0"), ("b", "0"), ("b", "1")]
    assert ends("Community-CHILD_OF-Community") == [("1", "0")]
    assert ends("Report-DESCRIBES-Community") == [("r", "1")]
    assert ends("Claim-SUBJECT-Entity") == [("c", "b")]
    assert ends("Claim-OBJECT-Entity") == [("c", NASTY)]
    assert ends("Claim-STATED_IN-TextUnit") == [("c", "u 1")]
    assert ends("Entity-MENTIONED_IN-TextUnit") == [(NASTY, "u 1"), ("b", "u 1")]
    assert [one["size:long"] for one in rows(made.folder, "Community")] == ["2", ""]
    assert [one["content:string"] for one in rows(made.folder, "Report")] == ["# Of one"]


def test_what_several_rows_tell_of_one_is_not_left_out_in_silence(home: Path) -> None:
    write_imported("guest", {IMPORTED_ENTITIES: [entity(1, "b"), entity(2, "b", born=1)]})
    made = export("guest", "graphml", home / "out")
    assert made.files[0].rows == 1
    assert [one for one in made.lacking if one.startswith("1 row of imports.entities")]


def test_relations_that_share_an_id_stay_apart(home: Path) -> None:
    pair = [relation(1, "a", "b", "x") | {"key": "7"}, relation(2, "a", "b", "x") | {"key": "7"}]
    write_imported("guest", {IMPORTED_RELATIONS: [*pair, relation(3, "a", "b", "y") | {"key": "8"}]})
    made = export("guest", "neo4j", home / "out")
    stated = rows(made.folder, "Entity-STATED-Entity")
    assert [(one["key:IGNORE"], one["id:string"]) for one in stated] == [
        ("g.json#1", "7"),
        ("g.json#2", "7"),
        ("8", "8"),
    ]


def test_bytes_are_the_same_again(guest: Path) -> None:
    for to in ("graphml", "rdf", "neo4j", "triples", "parquet", "microsoft"):
        first, second = export("guest", to, guest / f"{to} 1"), export("guest", to, guest / f"{to} 2")
        hashed = {one.path: one.sha256 for one in first.files if one.sha256}
        assert hashed
        assert hashed == {one.path: one.sha256 for one in second.files if one.sha256}
        manifests = {(one.folder / "export.json").read_bytes() for one in (first, second)}
        assert len(manifests) == 1
