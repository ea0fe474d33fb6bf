"""Graphs as RDF: N-Triples and Turtle."""

import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.interchange.graph_rows.import_batches import ReadAccount
from graphrag_dagster.apps.interchange.readers.rdf_entities import TYPE, local_name
from graphrag_dagster.apps.interchange.readers.rdf_statements import n_triples_batches, rdf_batches
from support.graphs import read_folder

_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_PREFIXES = f"@prefix : <http://e.org/> . @prefix rdfs: <{_LABEL.removesuffix('label')}> .\n"

Triple = tuple[str, str, str | tuple[str, str | None, str | None]]


def test_a_broken_line_costs_itself_alone(tmp_path: Path) -> None:
    lines = [
        "# a comment",
        f"<http://e.org/ada> <{TYPE}> <http://e.org/Person> . # hers",
        f'<http://e.org/ada> <{_LABEL}> "Ada \\u00e9 \\"L\\""@en-GB.',
        f'<http://e.org/ada> <{_LABEL}> "Die Ada"@de .',
        '<http://e.org/ada> <http://www.w3.org/2000/01/rdf-schema#comment> "She wrote." .',
        '<http://e.org/ada> <http://e.org/born> "1815"^^<http://www.w3.org/2001/XMLSchema#gYear> .',
        "",
        "this is no statement",
        "<http://e.org/ada> <http://e.org/livedIn> <http://e.org/S%C3%A3o_Paulo> .",
        "_:x<http://e.org/knows>_:y.",
        "<http://e.org/a b> <http://e.org/knows> _:y .",
    ]
    (tmp_path / "a.nt").write_text("\n".join(lines))
    read = read_folder(tmp_path)
    (ada,) = read.rows("entities")
    assert (ada["key"], ada["title"], ada["type"], ada["description"], ada["row"]) == (
        "http://e.org/ada", 'Ada é "L"', "Person", "She wrote.", 2,
    )  # fmt: skip
    assert json.loads(ada["attributes"])["http://e.org/born"] == [
        {"value": "1815", "datatype": "http://www.w3.org/2001/XMLSchema#gYear"}
    ]
    told = [
        (r["row"], r["head_key"], r["label"], r["relation"], r["tail_key"]) for r in read.rows("relations")
    ]
    assert told == [
        (9, "http://e.org/ada", "livedIn", "lived_in", "http://e.org/S%C3%A3o_Paulo"),
        (10, "_:x", "knows", "knows", "_:y"),
    ]
    assert json.loads(read.rows("relations")[0]["attributes"]) == {"predicate": "http://e.org/livedIn"}
    assert [(row["row"], row["raw"]) for row in read.rows("quarantine")] == [(8, lines[7]), (11, lines[10])]
    assert read.account() == {
        ("entities", "read"): 5,
        ("relations", "read"): 2,
        ("relations", "malformed"): 2,
    }
    (graph,) = read.graphs
    assert (graph.keys_are_iris, graph.declares_entities) == (True, False)


def test_local_names_are_decoded() -> None:
    assert [local_name(iri) for iri in ("http://e.org/a%20b", "http://e.org/a#", "urn:isbn:7", "_:b1", "x")] == [
        "a b", "a", "7", "_:b1", "x",
    ]  # fmt: skip


def test_turtle_says_what_n_triples_say(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(
        _PREFIXES
        + ':ada a :Person ; rdfs:label "Ada"@en ; :age "036"^^:int ; :knows [ :knows :bo ] , <rel> .'
    )
    first, second = read_folder(tmp_path), read_folder(tmp_path)
    ends = [(row["row"], row["head_key"], row["tail_key"]) for row in first.rows("relations")]
    assert ends == [
        (4, "_:b1", "http://e.org/bo"),
        (5, "http://e.org/ada", "_:b1"),
        (6, "http://e.org/ada", "graph:/rel"),
    ]
    (ada,) = first.rows("entities")
    assert (ada["title"], ada["type"]) == ("Ada", "Person")
    assert json.loads(ada["attributes"])["http://e.org/age"] == [
        {"value": "036", "datatype": "http://e.org/int"}
    ]
    assert first.rows("relations") == second.rows("relations")
    assert first.account() == {("entities", "read"): 3, ("relations", "read"): 3}


def test_broken_turtle_fails_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(f"{_PREFIXES}:a :b :c .\n:d :e .\n")
    (tmp_path / "b.ttl").write_text(_PREFIXES + ":a :b " + "[ :b " * 50_000)
    read = read_folder(tmp_path)
    assert "line 3" in read.failed["a.ttl"]
    assert sorted(read.failed) == ["a.ttl", "b.ttl"]


def test_turtle_may_be_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_bytes(f"{_PREFIXES}:café :près :Tübingen .\n".encode("utf-16"))
    (row,) = read_folder(tmp_path).rows("relations")
    assert (row["head_key"], row["tail_key"]) == ("http://e.org/café", "http://e.org/Tübingen")


_IRIS = st.sampled_from(["http://e.org/" + name for name in ("a", "b", "é", "S%C3%A3o", "x#y")])
_NODES = st.one_of(_IRIS, st.sampled_from(["_:b0", "_:x.y"]))
_VALUES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12)
_KINDS = st.sampled_from([(None, None), ("en-GB", None), (None, "http://e.org/type")])
_LITERALS = st.builds(lambda value, kind: (value, *kind), _VALUES, _KINDS)
_TRIPLES = st.lists(
    st.tuples(_NODES, st.one_of(_IRIS, st.just(TYPE)), st.one_of(_NODES, _LITERALS)), max_size=9
)


def _written(triple: Triple, escaped: bool) -> str:
    def node(name: str) -> str:
        return name if name.startswith("_:") else f"<{name}>"

    subject, predicate, end = triple
    if isinstance(end, str):
        return f"{node(subject)} {node(predicate)} {node(end)} ."
    value, language, datatype = end
    for char, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        value = value.replace(char, escape)
    if escaped:
        value = "".join(c if " " <= c <= "~" else f"\\U{ord(c):08X}" for c in value)
    mark = f"@{language}" if language else f"^^<{datatype}>" if datatype else ""
    return f'{node(subject)} {node(predicate)} "{value}"{mark} .'


def _said(frames: dict[str, list[pl.DataFrame]]) -> list[Triple]:
    """The statements again, from the rows of the tables."""
    found: list[Triple] = []
    for frame in frames.get("relations", ()):
        for row in frame.iter_rows(named=True):
            found.append((row["head_key"], json.loads(row["attributes"])["predicate"], row["tail_key"]))
    for frame in frames.get("entities", ()):
        for row in frame.iter_rows(named=True):
            for predicate, ends in json.loads(row["attributes"]).items():
                found += [(row["key"], predicate, _end(end)) for end in ends]
    return found


def _end(end: dict[str, Any]) -> str | tuple[str, str | None, str | None]:
    return end["iri"] if "iri" in end else (end["value"], end.get("language"), end.get("datatype"))


@given(_TRIPLES, st.booleans())
def test_the_same_statements_can_be_written_again(triples: list[Triple], escaped: bool) -> None:
    data = "\n".join(_written(triple, escaped) for triple in triples).encode()
    if any((byte < 32 and byte not in b"\t\n\r") or byte == 127 for byte in data):
        # So many of them would be no text.
        data += b"\n# " + b"x" * 10_000
    frames: dict[str, list[pl.DataFrame]] = {}
    for batch in n_triples_batches(io.BytesIO(data), "g", ReadAccount("a.nt")):
        frames.setdefault(batch.table, []).append(batch.frame)
    assert "quarantine" not in frames
    assert sorted(map(repr, _said(frames))) == sorted(map(repr, triples))


@given(_TRIPLES)
def test_turtle_reads_n_triples(triples: list[Triple]) -> None:
    data = "\n".join(_written(triple, True) for triple in triples).encode()
    counts = []
    for kind in ("n-triples", "turtle"):
        account, stream = ReadAccount("a"), io.BytesIO(data)
        if kind == "turtle":
            list(rdf_batches(stream, kind, "g", account))
        else:
            list(n_triples_batches(stream, "g", account))
        counts.append(list(account.close())[-1].frame.select("record", "outcome", "rows").rows())
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("declared", "encoding", "label"),
    [
        ("ISO-8859-2", "iso-8859-2", "Žofie Škvorecká"),
        ("windows-1251", "cp1251", "Иван"),
        ("UTF-16", "utf-16", "Žofie"),
        ("us-ascii", "utf-8", "Ada"),
        ("ISO-8859-1", "utf-8", "Žofie, which is UTF-8"),
        ("utf-16", "utf-8", "Ada, saved again"),
        ("hex", "utf-8", "Ada"),
        ("unheard-of", "utf-8", "Ada"),
    ],
)
def test_rdf_xml_may_declare_another_encoding(
    tmp_path: Path, declared: str, encoding: str, label: str
) -> None:
    text = (
        f"<?xml version='1.0' encoding='{declared}'?>\n<r:RDF xmlns:e='http://e.org/' "
        "xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><r:Description r:about='http://e.org/a'>"
        f"<l:label xmlns:l='{_LABEL.removesuffix('label')}'>{label}</l:label></r:Description></r:RDF>"
    )
    (tmp_path / "a.rdf").write_bytes(text.encode(encoding))
    read = read_folder(tmp_path)
    assert (read.failed, read.column("entities", "title")) == ({}, [label])
