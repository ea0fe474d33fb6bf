"""Foreign graphs that would break what follows, or fill the memory: put aside with reasons, cut, or declined."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.apps.interchange.graph_rows.cell_values import LONGEST_KEY, LONGEST_TEXT, shorten
from graphrag_dagster.apps.interchange.readers.graph_files import graph_files
from graphrag_dagster.apps.interchange.readers.rdf_statements import without_entities
from graphrag_dagster.kernel.common.file_discovery import discover
from graphrag_dagster.kernel.documents.documents import describe_files
from graphrag_dagster.kernel.documents.file_records import RefusedError
from support.graphs import Read, read_folder

_ODD = ("1e308", "-2", "5e-324", "1e31")


def _graphml(node: str, edge: str) -> str:
    return (
        '<graphml><key id="w" for="edge" attr.name="weight" attr.type="double"/><key id="d" for="node" '
        f'attr.name="description"/><graph><node id="a">{node}</node><node id="b"/><edge source="a" target="b">{edge}'
        "</edge></graph></graphml>"
    )


def _weighing(folder: Path, form: str, weight: str) -> None:
    texts = {
        "csv": f"head,tail,weight\na,b,{weight}\n",
        "jsonl": json.dumps({"head": "a", "tail": "b", "weight": float(weight)}),
        "json": json.dumps({"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b", "weight": weight}]}),
        "graphml": _graphml("", f'<data key="w">{weight}</data>'),
        "gexf": '<gexf><graph><nodes><node id="a"/><node id="b"/></nodes><edges>'
        f'<edge id="0" source="a" target="b" weight="{weight}"/></edges></graph></gexf>',
        "gml": f"graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 weight {weight} ] ]",
        "net": f'*Vertices 2\n1 "a"\n2 "b"\n*Arcs\n1 2 {weight}\n',
        "edgelist": f"a b {{'weight': {weight}}}\n",
    }  # fmt: skip
    if form == "importer":
        (folder / "nodes.csv").write_text(":ID,name\n1,a\n2,b\n")
        (folder / "edges.csv").write_text(f":START_ID,:END_ID,:TYPE,weight:double\n1,2,R,{weight}\n")
    elif form == "parquet":
        pl.DataFrame({"source": ["a"], "target": ["b"], "weight": [float(weight)]}).write_parquet(
            folder / "e.parquet"
        )
    elif form == "microsoft":
        pl.DataFrame({"id": ["1", "2"], "human_readable_id": [1, 2], "title": ["A", "B"]}).write_parquet(
            folder / "entities.parquet"
        )
        pl.DataFrame(
            {
                "id": ["1"],
                "human_readable_id": [1],
                "source": ["A"],
                "target": ["B"],
                "weight": [float(weight)],
            }
        ).write_parquet(folder / "relationships.parquet")
    else:
        (folder / f"g.{form}").write_text(texts[form])


_FORMS = (
    "csv",
    "jsonl",
    "json",
    "graphml",
    "gexf",
    "gml",
    "net",
    "edgelist",
    "importer",
    "parquet",
    "microsoft",
)


@pytest.mark.parametrize("form", _FORMS)
def test_a_weight_that_breaks_sums_is_put_aside_in_every_form(form: str, tmp_path: Path) -> None:
    for weight in _ODD:
        folder = tmp_path / weight
        folder.mkdir()
        _weighing(folder, form, weight)
        read = read_folder(folder)
        assert read.column("relations", "weight") == [1.0], weight
        assert "no weight" in read.rows("repaired")[0]["reason"]
        assert json.loads(read.column("relations", "attributes")[0])["weight"] is not None
    (folder := tmp_path / "usual").mkdir()
    _weighing(folder, form, "0.25")
    assert read_folder(folder).column("relations", "weight") == [0.25]


def _long(folder: Path, form: str, key: str, text: str) -> None:
    if form == "graphml":
        told = f'<data key="d">{text}</data>'
        (folder / "g.graphml").write_text(
            _graphml(told, "").replace('id="a"', f'id="{key}"').replace('"a"', f'"{key}"')
        )
    elif form == "json":
        value = {
            "nodes": [{"id": key, "description": text}, {"id": "b"}],
            "edges": [{"source": key, "target": "b"}],
        }
        (folder / "g.json").write_text(json.dumps(value))
    elif form == "gml":
        (folder / "g.gml").write_text(
            f'graph [ node [ id "{key}" description "{text}" ] node [ id "b" ] edge [ source "{key}" target "b" ] ]'
        )
    elif form == "ttl":
        (folder / "g.nt").write_text(
            f'<http://e.org/{key}> <http://www.w3.org/2000/01/rdf-schema#comment> "{text}" .\n'
            f"<http://e.org/{key}> <http://e.org/p> <http://e.org/b> .\n"
        )
    else:
        (folder / "nodes.csv").write_text(f"id,description\n{key},{text}\nb,\n")
        (folder / "edges.csv").write_text(f"source,target\n{key},b\n")


@pytest.mark.parametrize("form", ["graphml", "json", "gml", "ttl", "csv"])
def test_long_ids_and_texts_are_cut_and_counted_and_edges_still_fit(form: str, tmp_path: Path) -> None:
    _long(tmp_path, form, "k" * 20_000, "word " * 60_000)
    read = read_folder(tmp_path)
    entity = max(read.rows("entities"), key=lambda row: len(row["key"]))
    assert len(entity["key"]) <= LONGEST_KEY
    assert len(entity["title"]) <= LONGEST_KEY
    assert LONGEST_TEXT - 9 <= len(entity["description"]) <= LONGEST_TEXT
    assert len(entity["attributes"]) < 400_000
    assert read.column("relations", "head_key") == [entity["key"]]
    account = read.account()
    assert account["entities", "repaired"] == account["relations", "repaired"] == 1


def test_long_ids_that_begin_alike_stay_apart() -> None:
    one, other = shorten("k" * 5_000 + "1"), shorten("k" * 5_000 + "2")
    assert one != other
    assert len(one) == len(other) == LONGEST_KEY
    assert shorten("k" * LONGEST_KEY) == "k" * LONGEST_KEY


def _rdf(doctype: str, text: str = "x") -> str:
    return (
        f'<?xml version="1.0"?>{doctype}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        f'xmlns:e="http://e.org/"><rdf:Description rdf:about="http://e.org/a"><e:l>{text}</e:l></rdf:Description></rdf:RDF>'
    )


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE r SYSTEM "http://e.org/x.dtd">',
        '<!DOCTYPE r [<!ENTITY % a "x">]>',
        f'<!DOCTYPE r [<!ENTITY a "{"a" * 5_000}">]>',
    ],
)
def test_entities_of_rdf_xml_that_may_do_harm_are_declined(doctype: str, tmp_path: Path) -> None:
    (tmp_path / "a.owl").write_text(_rdf(doctype, "&a;"))
    assert "DOCTYPE" in read_folder(tmp_path).failed["a.owl"]


def test_entities_of_rdf_xml_may_not_make_it_many_times_as_long() -> None:
    text = _rdf(f'<!DOCTYPE r [<!ENTITY a "{"a" * 999}">]>', "&a;" * 100_000)
    with pytest.raises(RefusedError, match="many times as long"):
        list(without_entities([text]))
    short = _rdf("<!DOCTYPE r [<!ENTITY e 'http://e.org/'>]>", "&e;&amp;")
    whole = "".join(without_entities(short))
    assert "<e:l>http://e.org/&amp;</e:l>" in whole
    assert "DOCTYPE" not in whole


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.gml", "graph [ " + "node [ " * 5_000),
        ("a.gml", 'graph [ node [ id 1 label "x ] ]'),
        ("a.json", "[" * 100_000),
        ("a.jsonld", '{"@context": "https://e.org/context.jsonld", "@id": "x"}'),
        ("a.owl", '<Ontology xmlns="http://www.w3.org/2002/07/owl#"/>'),
        ("a.owl", "Prefix(:=<http://e.org/>)\nOntology()"),
        ("a.gexf", "<graphml/>"),
        ("a.net", "*Vertices 1\n1\n*Matrix\n0\n"),
        ("a.cyjs", "{}"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    read = read_folder(tmp_path)
    assert {**read.failed, **read.left_out}[name]
    assert not read.rows("entities")


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        (
            'n,r,m\n"(:Person {name: ""Marta"",born: 1901})",[:DIRECTS {since: 1911}],(:Museum)\n',
            "there as JSON",
        ),
        (
            "SUID,shared name,shared interaction,name,interaction\n7,A (pp) B,pp,A (pp) B,pp\n",
            "cyjs, GraphML or SIF",
        ),
    ],
)
def test_tables_that_do_not_say_what_relates_name_the_export_that_does(
    text: str, mend: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert mend in read_folder(tmp_path).failed["a.csv"]


def test_what_a_query_returned_under_its_own_words_is_understood(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a.name,type(r),b.name\nMarta,DIRECTS,Museum\n")
    (row,) = read_folder(tmp_path).rows("relations")
    assert (row["head_key"], row["relation"], row["tail_key"]) == ("Marta", "directs", "Museum")


def test_nothing_in_a_list_of_edges_is_run(tmp_path: Path) -> None:
    (tmp_path / "a.edgelist").write_text(
        "a b {'weight': __import__('os').getpid()}\n"
        + "a b {"
        + "[" * 5_000
        + "}\na c {'relation': 'knows'}\n"
    )
    read = read_folder(tmp_path)
    assert read.account() == {("relations", "malformed"): 2, ("relations", "read"): 1}


@pytest.mark.parametrize("name", ["g.gephi", "g.cypher", "g.dot", "g.xlsx", "g.gpickle", "g.graphmlz"])
def test_files_of_tools_that_are_not_read_say_how_to_save_them(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    told = graph_files(discover(tmp_path, max_bytes=10**6)).left_out[name]
    assert any(word in told for word in ("export", "save", "unpack", "write"))


def test_extensions_of_documents_are_not_named_for_graphs() -> None:
    row = {"path": "g.gephi", "status": "unsupported", "reason": "a project of Gephi", "incomplete": False}
    (line,), _ = describe_files(pl.DataFrame([row]))
    assert "a project of Gephi" in line


def _importer(folder: Path, header: str) -> Read:
    (folder / header).write_text("personId:ID(Person),name,:LABEL\n")
    (folder / "persons.csv").write_text("1,Marta,Person\n2,Tomas,Person\n")
    return read_folder(folder)


def test_a_file_without_names_beside_header_files_is_no_list_of_triples(tmp_path: Path) -> None:
    read = _importer(tmp_path, "people_header.csv")
    assert not read.rows("relations")
    assert "name its header file persons-header.csv" in read.left_out["persons.csv"]
    (tmp_path / "people_header.csv").unlink()
    assert [row["title"] for row in _importer(tmp_path, "persons-header.csv").rows("entities")] == [
        "Marta",
        "Tomas",
    ]


def test_parts_of_lightrag_are_told_apart(tmp_path: Path) -> None:
    value: dict[str, Any] = {
        "nodes": [{"id": "A", "description": "One.<SEP>Two.", "source_id": "c1<SEP>c2", "file_path": "a<SEP>b"}, {"id": "B"}],
        "edges": [{"source": "A", "target": "B", "keywords": "leads<SEP>owns", "description": "<SEP>x", "source_id": "c1"}],
    }  # fmt: skip
    (tmp_path / "g.json").write_text(json.dumps(value))
    read = read_folder(tmp_path)
    (first, _), (edge,) = read.rows("entities"), read.rows("relations")
    assert (first["description"], first["text_unit_keys"]) == ("One.\nTwo.", ["c1", "c2"])
    assert json.loads(first["attributes"]) == {"file_path": ["a", "b"]}
    assert (edge["label"], edge["description"], edge["text_unit_keys"]) == ("leads, owns", "x", ["c1"])
    (folder := tmp_path / "t").mkdir()
    (folder / "e.csv").write_text("source,target,keywords,description\nA,B,leads<SEP>owns,One.<SEP>Two.\n")
    assert read_folder(folder).column("relations", "description") == ["One.\nTwo."]


def test_a_way_that_an_edge_leads_is_no_label_but_a_relation_may_be_called_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Source,Target,Type,Weight\na,b,Directed,1\nb,c,Undirected,1\n")
    (tmp_path / "b.csv").write_text("Source,Target,Type\na,b,directed\nb,c,produced\n")
    (tmp_path / "c.csv").write_text("Source,Target,Type,Kind\na,b,Directed,knows\n")
    labels = {row["path"] + str(row["row"]): row["label"] for row in read_folder(tmp_path).rows("relations")}
    assert labels == {
        "a.csv2": "",
        "a.csv3": "",
        "b.csv2": "directed",
        "b.csv3": "produced",
        "c.csv2": "knows",
    }


@pytest.mark.parametrize("missing", ["NaN", "nan", "<NA>", "NaT", "NULL", "\\N", ""])
def test_nothing_is_no_name(missing: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"source,target,relation\na,b,{missing}\n{missing},b,r\nNina,Nullius,r\n")
    read = read_folder(tmp_path)
    assert read.account() == {("relations", "read"): 2, ("relations", "malformed"): 1}
    assert read.column("relations", "label") == ["", "r"]


def test_third_columns_of_numbers_are_weights_only_between_things_of_one_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b 0.5\nb c 2\n")
    (tmp_path / "b.txt").write_text("Kismet|released|1944\nRope|released|1948\n")
    (tmp_path / "c.csv").write_text("7,9,3\n8,4,1\n")
    told = {
        row["path"] + row["head_key"]: (row["label"], row["tail_key"], row["weight"])
        for row in read_folder(tmp_path).rows("relations")
    }
    assert told["a.txta"] == ("", "b", 0.5)
    assert told["b.txtKismet"] == ("released", "1944", 1.0)
    assert told["c.csv7"] == ("", "9", 3.0)
