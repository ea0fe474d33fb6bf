"""A graph is taken in from a server that speaks Bolt, read-only, whole or not at all."""

import json
from pathlib import Path

import pytest

from graphrag_dagster.apps.interchange.graph_import import import_graphs
from graphrag_dagster.apps.interchange.settings import ImportServer
from graphrag_dagster.apps.interchange.tables import IMPORT_QUARANTINE
from graphrag_dagster.errors import CorpusError, EndpointError
from graphrag_dagster.kernel.pipeline.index_status import status_of
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_ENTITIES, IMPORTED_RELATIONS
from support.bolt_server import BoltScript, BoltServer
from support.commands import Run
from support.tables_of import contents

NODES = [
    ("4:0", ["Person", "Skipper"], {"name": "Ada Kvist", "born": 1961, "boats": ["Mouat", "Tern"]}),
    ("4:1", ["Company"], {"title": "Kvist Marine", "note": "MATCH (n) DETACH DELETE n"}),
    ("4:2", [], {"label": "Port Ellery"}),
    (None, ["Ghost"], {}),
]
RELATIONS = [
    ("5:0", "4:0", "4:1", "FOUNDED", {"since": 1998, "weight": 2.5}),
    ("5:1", "4:1", "4:2", "$ ->", {}),
    ("5:2", "4:1", "4:9", "MOORED_AT", None),
]


def scripted(**how: object) -> BoltScript:
    answers = {
        "()-[r]": (("key",), []),
        "labels(n)": (("key", "labels", "properties"), NODES),
        "type(r)": (("key", "head", "tail", "label", "properties"), RELATIONS),
    }
    return BoltScript(answers=answers, **how)  # type: ignore[arg-type]


def write(home: Path, uri: str, more: str = "") -> None:
    folder = home / "corpora" / "port"
    folder.mkdir(parents=True, exist_ok=True)
    settings = f"kind: graph\nimports: {{neo4j: {{uri: '{uri}', database: port{more}}}}}\n"
    (folder / "corpus.yaml").write_text(settings, "utf-8")


def taken() -> None:
    import_graphs(CorpusStore(), Warehouse(), "port")


def test_nodes_and_relations_are_taken_in_by_transactions_that_only_read(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_USER", "reader")
    monkeypatch.setenv("NEO4J_PASSWORD", "s3cret")
    with BoltServer(scripted(login=("reader", "s3cret"))) as server:
        write(home, server.uri)
        code, _, err = run("index", "port")
        assert code == 0, err
        assert server.script.modes == ["r", "r"]
    entities = Warehouse().read(IMPORTED_ENTITIES, "port")
    assert set(entities.select("name", "type").rows()) == {
        ("Ada Kvist", "Person"),
        ("Kvist Marine", "Company"),
        ("Port Ellery", "UNKNOWN"),
    }
    ada = json.loads(entities.filter(name="Ada Kvist")["attributes"].item())
    assert ada == {
        "name": "Ada Kvist",
        "born": 1961,
        "boats": ["Mouat", "Tern"],
        "labels": ["Person", "Skipper"],
    }
    relations = Warehouse().read(IMPORTED_RELATIONS, "port")
    assert set(relations.select("head", "label", "tail", "weight", "outcome").rows()) == {
        ("Ada Kvist", "FOUNDED", "Kvist Marine", 2.5, "read"),
        ("Kvist Marine", "$ ->", "Port Ellery", 1.0, "read"),
        ("Kvist Marine", "MOORED_AT", "4:9", 1.0, "dangling"),
    }
    quarantine = Warehouse().read(IMPORT_QUARANTINE, "port")
    assert quarantine["record"].to_list() == ["entities"]
    assert status_of("port").files.current_count == 0
    assert b"s3cret" not in Warehouse().file("port").read_bytes()


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"drops_after": 2}, "closed the connection"),
        ({"fails": ("Neo.ClientError.Statement.SyntaxError", "Invalid input")}, "Invalid input"),
        ({"login": ("reader", "another")}, "rejects the login"),
        ({"endless": True}, "more than 1,000 rows; raise imports.neo4j.most_rows"),
    ],
)
def test_what_a_server_does_wrong_is_told_and_leaves_tables_as_they_were(
    home: Path, fault: dict[str, object], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_USER", "reader")
    monkeypatch.setenv("NEO4J_PASSWORD", "s3cret")
    with BoltServer(scripted()) as server:
        write(home, server.uri, ", most_rows: 1000")
        taken()
    before = contents(Warehouse(), "port")
    with BoltServer(scripted(**fault)) as server:
        write(home, server.uri, ", most_rows: 1000")
        with pytest.raises((CorpusError, EndpointError), match=told) as raised:
            taken()
    assert "s3cret" not in str(raised.value)
    assert contents(Warehouse(), "port") == before


def test_a_query_without_a_needed_column_is_refused_with_its_name(home: Path) -> None:
    with BoltServer(BoltScript(columns=("id",), rows=[(1,)])) as server:
        write(home, server.uri)
        with pytest.raises(CorpusError, match="no column key; it gives id"):
            taken()


def test_the_server_is_asked_for_an_order() -> None:
    own = ImportServer()
    assert own.nodes.endswith(" ORDER BY key")
    assert own.relations.endswith(" ORDER BY key")
