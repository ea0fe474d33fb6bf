"""Graphs as GraphML: networkx's, Neo4j's, yEd's, LightRAG's; and what is none."""

import io
import json
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.interchange.graph_rows.graph_columns import GraphColumns
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ReadAccount
from graphrag_dagster.apps.interchange.readers.xml_graphs import graphml_batches
from graphrag_dagster.kernel.documents.file_records import RefusedError, UnreadableError
from support.graphs import Read, read_folder

_HEAD = (
    '<graphml><key id="d0" for="node" attr.name="kind" attr.type="string"><default>thing</default></key>'
    '<key id="d1" for="node" attr.name="n" attr.type="int"/>'
    '<key id="d2" for="edge" attr.name="weight" attr.type="double"/><key id="d3" for="all" attr.name="ok" '
    'attr.type="boolean"/>'
)


def _read(folder: Path, text: str | bytes) -> Read:
    (folder / "a.graphml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_folder(folder)


def _attributes(read: Read, table: str) -> list[dict[str, Any]]:
    return [json.loads(told) for told in read.column(table, "attributes")]


def test_types_and_defaults_are_as_declared(tmp_path: Path) -> None:
    read = _read(
        tmp_path,
        f"""{_HEAD}<graph edgedefault="undirected"><node id="a"><data key="d1">7</data><data key="d3">1</data></node>
        <node id="b"><data key="d0">person</data><data key="d1">seven</data><data key="d9">?</data></node>
        <edge source="a" target="b"><data key="d2">2.5</data></edge>
        <edge id="e" source="a" target="b" directed="true" label="KNOWS"><data key="d2">x</data></edge>
        <edge source="a" target="c"/></graph></graphml>""",
    )
    assert read.column("entities", "type") == ["thing", "person"]
    assert _attributes(read, "entities") == [{"n": 7, "ok": True}, {"n": "seven", "d9": "?"}]
    told = [(row["row"], row["key"], row["label"], row["weight"]) for row in read.rows("relations")]
    assert told == [(3, None, "", 2.5), (4, "e", "KNOWS", 1.0), (5, None, "", 1.0)]
    assert [row["directed"] for row in _attributes(read, "relations")] == [False, True, False]
    assert [(row["row"], row["reason"]) for row in read.rows("repaired")] == [
        (2, "its attribute 'd9' is declared nowhere"),
        (4, "weight is declared as double, which 'x' is not"),
    ]
    assert read.graphs[0].declares_entities


def test_hyperedges_are_quarantined_and_nodes_within_nodes_are_of_a_group(tmp_path: Path) -> None:
    read = _read(
        tmp_path,
        """<graphml><graph><node id="a"><graph id="in"><node id="z"/><edge source="z" target="z"/></graph></node>
        <hyperedge id="h"><endpoint node="a"/></hyperedge><node/><edge source="a"/><edge target="a"/></graph></graphml>""",
    )
    assert sorted((row["row"], row["key"], row["attributes"]) for row in read.rows("entities")) == [
        (1, "a", "{}"),
        (2, "z", '{"group": "a"}'),
    ]
    assert sorted((row["row"], row["record"], row["reason"]) for row in read.rows("quarantine")) == [
        (4, "rows", "a hyperedge; only nodes and edges between two of them are read"),
        (5, "entities", "its id is blank"),
        (6, "relations", "its tail is blank"),
        (7, "relations", "its head is blank"),
    ]


def test_neo4j_and_yed_are_understood(tmp_path: Path) -> None:
    read = _read(
        tmp_path,
        """<graphml xmlns:y="u"><key id="g" for="node" yfiles.type="nodegraphics"/><graph edgedefault="directed">
        <node id="n0" labels=":Person:Actor"><data key="labels">:Person:Actor</data><data key="name">Keanu</data></node>
        <node id="n1"/>
        <edge id="e0" source="n0" target="n1" label="ACTED_IN"><data key="label">ACTED_IN</data></edge></graph></graphml>""",
    )
    assert [(row["title"], row["type"]) for row in read.rows("entities")] == [
        ("Keanu", "Person"),
        ("n1", "UNKNOWN"),
    ]
    assert read.column("relations", "relation") == ["acted_in"]
    read = _read(
        tmp_path,
        """<graphml xmlns:y="u"><key id="g" for="node" yfiles.type="nodegraphics"/><graph>
        <node id="n"><data key="g"><y:ShapeNode><y:NodeLabel>Hello<y:X/></y:NodeLabel></y:ShapeNode></data></node>
        </graph></graphml>""",
    )
    assert (read.column("entities", "title"), _attributes(read, "entities")) == (["Hello"], [{}])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('<!DOCTYPE x [<!ENTITY a "b">]><graphml>&a;</graphml>', RefusedError),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><graphml>&a;</graphml>', RefusedError),
        ('<!DOCTYPE x [<!ENTITY % a SYSTEM "http://e.org/">%a;]><graphml/>', RefusedError),
        ('<!DOCTYPE x SYSTEM "http://e.org/x.dtd"><graphml>&a;</graphml>', RefusedError),
        ("<html/>", UnreadableError),
        ("", UnreadableError),
        ("<graphml><graph><node id='a'/>", UnreadableError),
        ('<?xml version="1.0" encoding="klingon"?><graphml/>', UnreadableError),
        ("<graphml>" + "<graph><node>" * 500, UnreadableError),
        ("<graphml>" + "<x>" * 500, UnreadableError),
    ],
)
def test_what_is_dangerous_or_broken_is_declined(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        list(graphml_batches(io.BytesIO(text.encode()), "g", ReadAccount("a")))


def test_columns_may_name_attributes() -> None:
    text = f'{_HEAD}<graph><node id="a"><data key="d0">x</data></node></graph></graphml>'
    batches = list(
        graphml_batches(io.BytesIO(text.encode()), "g", ReadAccount("a"), GraphColumns(title="kind"))
    )
    assert batches[0].frame["title"].to_list() == ["x"]


_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Co", "Cn"), max_codepoint=0x2FFF), max_size=8)
_VALUE = st.one_of(
    st.integers(-(2**31), 2**31), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), _TEXT
)
_DATA = st.dictionaries(st.sampled_from(["n", "size", "note", "x y"]), _VALUE, max_size=3)
_IDS = st.sampled_from(["a", "b", "ü", "1"])


@given(
    st.dictionaries(_IDS, _DATA, max_size=4),
    st.lists(st.tuples(_IDS, _IDS, _DATA), max_size=6),
    st.booleans(),
)
def test_what_networkx_writes_reads_the_same(
    nodes: dict[str, dict[str, Any]], edges: list[tuple[str, str, dict[str, Any]]], directed: bool
) -> None:
    graph = networkx.MultiDiGraph() if directed else networkx.MultiGraph()
    graph.add_nodes_from(nodes.items())
    graph.add_edges_from(edges)
    stream = io.BytesIO()
    networkx.write_graphml_xml(graph, stream)
    frames: dict[str, list[Any]] = {}
    account = ReadAccount("a")
    for batch in graphml_batches(io.BytesIO(stream.getvalue()), "g", account):
        frames.setdefault(batch.table, []).append(batch.frame)
    assert set(frames) <= {"entities", "relations"}
    told = {
        row["key"]: json.loads(row["attributes"]) for f in frames.get("entities", ()) for row in f.to_dicts()
    }
    assert told == {node: _kept(data) for node, data in graph.nodes(data=True)}
    ends = [
        (row["head_key"], row["tail_key"], json.loads(row["attributes"]))
        for frame in frames.get("relations", ())
        for row in frame.to_dicts()
    ]
    assert ends == [(u, v, {**_kept(data), "directed": directed}) for u, v, data in graph.edges(data=True)]


def _kept(data: dict[str, Any]) -> dict[str, Any]:
    """A text of nothing is nothing."""
    return {name: value for name, value in data.items() if value != ""}
