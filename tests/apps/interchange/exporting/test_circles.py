"""What is taken in, exported and taken in again is the same."""

import csv
import json
from pathlib import Path

import networkx
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from graphrag_dagster import export
from graphrag_dagster.apps.interchange.import_proposal import propose
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT, IMPORTED_FILES
from support.circles import RECORDS, around, published_graph, said

GRAPHML = """<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="a" for="node" attr.name="name" attr.type="string"/>
<key id="b" for="node" attr.name="kind" attr.type="string"/>
<key id="c" for="node" attr.name="born" attr.type="int"><default>7</default></key>
<key id="d" for="node" attr.name="height" attr.type="double"/>
<key id="e" for="node" attr.name="Born" attr.type="boolean"/>
<key id="f" for="node" attr.name="declared" attr.type="boolean"/>
<key id="g" for="node" attr.name="about &lt;&quot;x&quot;&gt;" attr.type="string"/>
<key id="r" for="edge" attr.name="relation" attr.type="string"/>
<key id="s" for="edge" attr.name="label" attr.type="string"/>
<key id="t" for="edge" attr.name="weight" attr.type="double"/>
<key id="u" for="edge" attr.name="directed" attr.type="boolean"/>
<key id="v" for="edge" attr.name="fact" attr.type="string"/>
<graph edgedefault="{default}">
<node id="n1"><data key="a">Paris</data><data key="b">city</data><data key="d">5.0</data></node>
<node id="n7"><data key="a">Paris</data><data key="c">-3</data><data key="e">true</data></node>
<node id="a &amp; &lt;b&gt; &quot;c&quot;"><data key="g"> x &amp;&#13;&#10;&#9;&lt;y&gt;&#x85; </data></node>
<node id="n3"><data key="f">true</data></node>
<node id="n4"><data key="f">false</data></node>
<edge id="e1" source="n1" target="n7"><data key="r">$</data><data key="t">2.5</data></edge>
<edge id="e2" source="n1" target="n7"><data key="r">-&gt;</data><data key="s">far</data></edge>
<edge source="n1" target="n7" {other}><data key="r">$</data><data key="u">false</data></edge>
<edge source="n1" target="n7" {other}><data key="r">$</data><data key="u">false</data></edge>
<edge source="n7" target="n7"><data key="v">It is &lt;itself&gt;.</data></edge>
<edge source="n3" target="nobody"><data key="r">knows</data></edge>
</graph></graphml>"""

RDF = r"""<http://e.org/ada> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e.org/Person> .
<http://e.org/ada> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> _:kind .
<http://e.org/ada> <http://www.w3.org/2000/01/rdf-schema#label> "Ada \"é\" \\ \t$"@en-gb .
<http://e.org/ada> <http://www.w3.org/2000/01/rdf-schema#label> "Ada\r\nLovelace" .
<http://e.org/ada> <http://e.org/born> "1815"^^<http://www.w3.org/2001/XMLSchema#gYear> .
<http://e.org/ada> <http://e.org/blank> "" .
<http://e.org/ada> <http://e.org/livedIn> <http://e.org/S%C3%A3o_Paulo> .
<http://e.org/ada> <http://e.org/livedIn> <http://e.org/ada> .
_:x.1 <http://e.org/knows> _:y .
_:x.1 <http://e.org/name> "a node without a name" .
<http://e.org/ünï> <urn:isbn:7> <http://e.org/ada> .
"""

CSV = '''from,verb,to,weight,fact,since,where
"Anna, B.",founded,"Quay ""9""",2,"It says:
two; lines",1901,"a;b|c"
Bo Tarn,$,Bo Tarn,,,,
Bo Tarn,->,Anna & <C>,0.1,,,x
Bo Tarn,->,Anna & <C>,0.1,,,x
Bo Tarn,,nobody,,,1902,
'''
PEOPLE = """id,name,category,about,Age,key
"Anna, B.",Anna,person,"Who
she is",7,k
Bo Tarn,Bo Tarn,,,,
Anna & <C>,Anna,person,,08,
"""

NODES = """id:ID(Person),name,born:int,height:double,alive:boolean,aka:string[],scores:double[],:LABEL
1,Keanu,1964,1.86,true,Neo;The One,1;2.5,Person;Actor
2,Carrie,,,false,Trinity,,Person
"""
FILMS = ''':ID(Film),title,released:long,on:boolean[],:LABEL
1,The Matrix,1999,true;false,Film
2,"Speed, ""II""",1997,,Film
'''
ROLES = """:START_ID(Person),roles:string[],stars:float,:END_ID(Film),:TYPE
1,Neo;Mr Anderson,8.5,1,ACTED_IN
1,Neo;Mr Anderson,8.5,1,ACTED_IN
2,,,1,ACTED_IN
2,,,9,$
"""


def assert_same(name: str, *leave_out: str) -> None:
    for table in RECORDS:
        before, after = said(table, name, *leave_out), said(table, "again", *leave_out)
        assert before.height > 0
        assert_frame_equal(after, before)


@pytest.mark.parametrize("default", ["directed", "undirected"])
@pytest.mark.parametrize("other", ["", 'directed="true"', 'directed="false"'])
def test_graphml(default: str, other: str, home: Path) -> None:
    published_graph("guest", {"a.graphml": GRAPHML.format(default=default, other=other)})
    folder = around("guest", "graphml", home)
    assert_same("guest")
    account = Warehouse().read(IMPORT_ACCOUNT, "again").select("record", "outcome", "rows").rows()
    # The node that our export has of an end is none of theirs.
    assert sorted(account) == [
        ("entities", "dangling", 1),
        ("entities", "read", 5),
        ("relations", "dangling", 1),
        ("relations", "duplicate", 1),
        ("relations", "loop", 1),
        ("relations", "read", 3),
    ]
    if not other:
        graph = networkx.read_graphml(folder / "graph.graphml", force_multigraph=True)
        assert (graph.is_directed(), graph.number_of_edges()) == (default == "directed", 6)
        assert graph.nodes["nobody"] == {"declared": False}


def test_ids_that_edges_share_are_told_beside_them(home: Path) -> None:
    published_graph("guest", {"a.csv": "id,head,relation,tail\n7,a,x,b\n7,a,x,b\n8,a,x,b\n"})
    made = export("guest", "graphml", home / "out")
    graph = networkx.read_graphml(made.folder / "graph.graphml", force_multigraph=True)
    keys = {key: told.get("id") for *_, key, told in graph.edges(keys=True, data=True)}
    assert keys == {0: "7", 1: "7", 8: None}


def test_rdf(home: Path) -> None:
    import pyoxigraph as ox

    published_graph("guest", {"a.nt": RDF})
    folder = around("guest", "rdf", home)
    assert_same("guest")
    written = (folder / "statements.nt").read_text(encoding="utf-8")
    assert sorted(written.splitlines()) == sorted(RDF.splitlines())
    formats = {"format": ox.RdfFormat.N_TRIPLES}
    assert set(ox.parse(written, **formats)) == set(ox.parse(RDF, **formats))
    ours = list(ox.parse((folder / "graph.nt").read_bytes(), **formats))
    same = {one.triple.object.value for one in ours if one.triple.predicate.value.endswith("#sameAs")}
    assert same == {f"http://e.org/{name}" for name in ("ada", "ünï", "S%C3%A3o_Paulo")}


def test_blank_nodes_of_two_files_stay_two(home: Path) -> None:
    import pyoxigraph as ox

    turtle = "@prefix : <http://e.org/> . :a :knows [ :knows :b ; :age 7 ] ."
    published_graph("guest", {"a.ttl": turtle, "b.ttl": turtle.replace("7", "8")})
    folder = around("guest", "rdf", home)
    written = ox.Dataset(ox.parse((folder / "statements.nt").read_bytes(), format=ox.RdfFormat.N_TRIPLES))
    both = "@prefix : <http://e.org/> . :a :knows [ :knows :b ; :age 7 ] , [ :knows :b ; :age 8 ] ."
    wanted = ox.Dataset(ox.parse(both, format=ox.RdfFormat.TURTLE))
    for one in (written, wanted):
        one.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert written == wanted


def test_lists_of_triples(home: Path) -> None:
    published_graph("guest", {"edges.csv": CSV, "people.csv": PEOPLE})
    folder = around("guest", "triples", home)
    assert_same("guest")
    with (folder / "triples.csv").open(newline="", encoding="utf-8") as file:
        header, first, *_ = csv.reader(file)
    assert header == [
        *("head", "relation", "tail", "weight", "description", "id", "text_unit_ids", "since", "where")
    ]
    assert first[:4] == ["Anna, B.", "founded", 'Quay "9"', "2.0"]


def test_a_list_without_entities_and_weights_gets_none(home: Path) -> None:
    published_graph("guest", {"edges.tsv": "A\tlikes\tB\nB\t$\tC\n"})
    folder = around("guest", "triples", home)
    assert not (folder / "entities.csv").exists()
    assert pl.read_csv(folder / "triples.csv")["weight"].null_count() == 2
    assert_frame_equal(said(RECORDS[1], "again"), said(RECORDS[1], "guest"))
    export("guest", "graphml", home / "network")
    assert '<data key="n0">false' in (home / "network" / "graph.graphml").read_text()


def test_neo4j(home: Path) -> None:
    published_graph("guest", {"people.csv": NODES, "films.csv": FILMS, "roles.csv": ROLES})
    folder = around("guest", "neo4j", home)
    assert_same("guest")
    assert (
        (folder / "Entity.csv").read_text(encoding="utf-8").startswith("key:ID,declared:boolean,title:string")
    )
    unread = Warehouse().read(IMPORTED_FILES, "again").filter(status="unsupported")
    assert {"Community.csv", "export.json", "import.sh", "load.cypher"} <= set(unread["path"])


def test_an_export_of_all_tables_is_no_graph(home: Path) -> None:
    published_graph("guest", {"edges.csv": CSV})
    made = export("guest", "parquet", home / "out")
    with pytest.raises(CorpusError, match="export the corpus again with --to microsoft"):
        propose(CorpusStore(), made.folder)
    # What somebody put beside it is read.
    (made.folder / "own.csv").write_text("head,tail\na,b\n")
    assert [graph.name for graph in propose(CorpusStore(), made.folder).graphs] == ["own.csv"]


def test_a_manifest_that_is_none_of_ours_says_nothing(home: Path) -> None:
    for number, told in enumerate(["[", "[]", json.dumps({"made_by": "graphrag_dagster", "to": "parquet"})]):
        folder = home / f"{number}"
        folder.mkdir()
        (folder / "export.json").write_text(told)
        (folder / "own.csv").write_text("head,tail\na,b\n")
        assert [graph.name for graph in propose(CorpusStore(), folder, f"c{number}").graphs] == ["own.csv"]


_OTHERS = json.dumps({
    "directed": True,
    "nodes": [{"id": 1, "name": "Ada", "type": "Person"}, {"id": "2", "name": "Quay", "tags": ["a", "b"]}, {"id": 3}],
    "links": [
        {"source": 1, "target": "2", "relation": "founded", "weight": -2.5},
        {"source": 1, "target": 3, "relation": "knows", "weight": 4},
        {"source": "2", "target": 2, "relation": "is"},
        {"source": 9, "target": 3, "weight": 1e308},
    ],
})  # fmt: skip


@pytest.mark.parametrize("to", ["graphml", "neo4j", "rdf", "triples", "microsoft"])
def test_what_another_tool_wrote_comes_back_from_every_form(to: str, home: Path) -> None:
    published_graph("guest", {"g.json": _OTHERS})
    around("guest", to, home)
    ends = ["head", "relation", "tail"]
    # Microsoft's form has no labels of relations.
    kept = ["head", "tail"] if to == "microsoft" else ends
    for columns in (kept, [*kept, "weight"]):
        there, here = (said(RECORDS[1], name).select(columns).sort(columns) for name in ("guest", "again"))
        assert_frame_equal(here, there)
    assert set(said(RECORDS[0], "again")["title"]) >= {"Ada", "Quay"}
