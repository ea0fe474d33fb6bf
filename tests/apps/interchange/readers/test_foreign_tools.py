"""One small graph, as each tool that exports graphs writes it, is the same graph here."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import igraph
import networkx
import polars as pl
import pytest

from graphrag_dagster.apps.interchange.graph_import import import_graphs
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORT_ACCOUNT,
    IMPORTED_ENTITIES,
    IMPORTED_FILES,
    IMPORTED_RELATIONS,
)
from support.graphs import read_folder
from support.homes import enter_home

MARTA, TOMAS, MUSEUM = "Marta Lindqvist", "Tomas Weill", "Alderbrook Museum"
TYPED = {(MARTA, "Person"), (TOMAS, "Person"), (MUSEUM, "Museum")}
UNTYPED = {(MARTA, "UNKNOWN"), (TOMAS, "UNKNOWN"), (MUSEUM, "UNKNOWN")}
RELATED = {(MARTA, "directs", MUSEUM), (TOMAS, "keeps_archive_of", MUSEUM)}
UNLABELLED = {(MARTA, "related_to", MUSEUM), (TOMAS, "related_to", MUSEUM)}


def _networkx() -> networkx.MultiDiGraph:
    graph = networkx.MultiDiGraph()
    graph.add_node(1, name=MARTA, type="Person")
    graph.add_node(2, name=MUSEUM, type="Museum")
    graph.add_node(3, name=TOMAS, type="Person")
    graph.add_edge(1, 2, relation="directs", weight=2.0)
    graph.add_edge(3, 2, relation="keeps archive of", weight=1.0)
    return graph


def _by_name() -> networkx.DiGraph:
    graph = networkx.DiGraph()
    graph.add_edge(MARTA.replace(" ", "_"), "Museum", relation="directs", weight=2.0)
    return graph


def _igraph() -> igraph.Graph:
    graph = igraph.Graph(n=3, edges=[(0, 1), (2, 1)], directed=True)
    graph.vs["name"], graph.vs["type"] = [MARTA, MUSEUM, TOMAS], ["Person", "Museum", "Person"]
    graph.es["relation"], graph.es["weight"] = ["directs", "keeps archive of"], [2.0, 1.0]
    return graph


def _json(name: str, value: object) -> Callable[[Path], None]:
    return lambda folder: _write(folder / name, json.dumps(value))


def _text(**files: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        for name, text in files.items():
            _write(folder / name.replace("__", "-").replace("_dot_", "."), text)

    return write


def _write(path: Path, text: str) -> None:
    path.write_text(text.lstrip("\n"), encoding="utf-8")


_NEO4J_NODES = [
    {"identity": 0, "labels": ["Person", "Director"], "properties": {"name": MARTA, "born": 1901}, "elementId": "4:x:0"},
    {"identity": 1, "labels": ["Museum"], "properties": {"name": MUSEUM}, "elementId": "4:x:1"},
    {"identity": 2, "labels": ["Person"], "properties": {"name": TOMAS}, "elementId": "4:x:2"},
]  # fmt: skip
_NEO4J_EDGES = [
    {"identity": 0, "start": 0, "end": 1, "type": "DIRECTS", "properties": {"since": 1911}, "elementId": "5:x:0",
     "startNodeElementId": "4:x:0", "endNodeElementId": "4:x:1"},
    {"identity": 1, "start": 2, "end": 1, "type": "KEEPS_ARCHIVE_OF", "properties": {}, "elementId": "5:x:1",
     "startNodeElementId": "4:x:2", "endNodeElementId": "4:x:1"},
]  # fmt: skip
_APOC_NODES = [
    {
        "type": "node",
        "id": "0",
        "labels": ["Person", "Director"],
        "properties": {"name": MARTA, "born": 1901},
    },
    {"type": "node", "id": "1", "labels": ["Museum"], "properties": {"name": MUSEUM}},
    {"type": "node", "id": "2", "labels": ["Person"], "properties": {"name": TOMAS}},
]
_APOC_EDGES = [
    {"type": "relationship", "id": "0", "label": "DIRECTS", "properties": {"since": 1911},
     "start": {"id": "0", "labels": ["Person", "Director"]}, "end": {"id": "1", "labels": ["Museum"]}},
    {"type": "relationship", "id": "1", "label": "KEEPS_ARCHIVE_OF",
     "start": {"id": "2", "labels": ["Person"]}, "end": {"id": "1", "labels": ["Museum"]}},
]  # fmt: skip
_CYTOSCAPE = {
    "nodes": [
        {"data": {"id": "61", "shared_name": MARTA, "name": MARTA, "SUID": 61, "type": "Person", "selected": False},
         "position": {"x": 1.0, "y": 2.0}, "selected": False},
        {"data": {"id": "62", "shared_name": MUSEUM, "name": MUSEUM, "SUID": 62, "type": "Museum"}},
        {"data": {"id": "63", "shared_name": TOMAS, "name": TOMAS, "SUID": 63, "type": "Person"}},
    ],
    "edges": [
        {"data": {"id": "71", "source": "61", "target": "62", "shared_name": f"{MARTA} (directs) {MUSEUM}",
                  "name": f"{MARTA} (directs) {MUSEUM}", "interaction": "directs", "SUID": 71}},
        {"data": {"id": "72", "source": "63", "target": "62", "name": f"{TOMAS} (keeps archive of) {MUSEUM}",
                  "interaction": "keeps archive of", "SUID": 72}},
    ],
}  # fmt: skip

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PREFIXES = (
    "@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> . "
    "@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix dct: <http://purl.org/dc/terms/> . "
    "@prefix schema: <https://schema.org/> . @prefix wd: <http://www.wikidata.org/entity/> . "
    "@prefix wdt: <http://www.wikidata.org/prop/direct/> . @prefix wikibase: <http://wikiba.se/ontology#> .\n"
)
#: What is declared of the vocabulary comes with the graph.
_OF_CLASSES = {("Person", "Class"), ("Museum", "Class")}
_OF_PROPERTIES = {("directs", "ObjectProperty"), ("keeps archive of", "ObjectProperty")}

#: What a tool is called → what writes its files, its entities, its relations.
CASES: dict[str, tuple[Callable[[Path], Any], set[tuple[str, str]], set[tuple[str, str, str]]]] = {
    "gephi graphml": (
        _text(g_dot_graphml=f"""
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" attr.type="string" for="node" id="label"/>
<key attr.name="Edge Label" attr.type="string" for="edge" id="edgelabel"/>
<key attr.name="weight" attr.type="double" for="edge" id="weight"/>
<key attr.name="Edge Id" attr.type="string" for="edge" id="edgeid"/>
<key attr.name="size" attr.type="float" for="node" id="size"/>
<graph edgedefault="directed">
<node id="n1"><data key="label">{MARTA}</data><data key="size">10.0</data></node>
<node id="n2"><data key="label">{MUSEUM}</data></node><node id="n3"><data key="label">{TOMAS}</data></node>
<edge source="n1" target="n2"><data key="edgeid">e1</data><data key="edgelabel">directs</data><data key="weight">2.0</data></edge>
<edge source="n3" target="n2"><data key="edgelabel">keeps archive of</data></edge>
</graph></graphml>"""),
        UNTYPED,
        RELATED,
    ),
    "gephi gexf": (
        _text(g_dot_gexf=f"""
<?xml version='1.0' encoding='UTF-8'?>
<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">
  <meta lastmodifieddate="2024-01-01"><creator>Gephi 0.10.1</creator></meta>
  <graph defaultedgetype="directed" mode="static">
    <attributes class="node" mode="static"><attribute id="category" title="Category" type="string"/></attributes>
    <nodes>
      <node id="1" label="{MARTA}"><attvalues><attvalue for="category" value="Person"/></attvalues>
        <viz:size value="10.0"/><viz:color r="1" g="2" b="3"/></node>
      <node id="2" label="{MUSEUM}"><attvalues><attvalue for="category" value="Museum"/></attvalues></node>
      <node id="3" label="{TOMAS}"><attvalues><attvalue for="category" value="Person"/></attvalues></node>
    </nodes>
    <edges><edge id="0" source="1" target="2" weight="2.0" label="directs"/>
      <edge id="1" source="3" target="2" kind="keeps archive of"/></edges>
  </graph>
</gexf>"""),
        TYPED,
        RELATED,
    ),
    "gephi tables": (
        _text(
            nodes_dot_csv=f"Id,Label,Interval,Category\n1,{MARTA},,Person\n2,{MUSEUM},,Museum\n3,{TOMAS},,Person\n",
            edges_dot_csv="Source,Target,Type,Id,Label,Interval,Weight\n1,2,Directed,0,directs,,2.0\n"
            "3,2,Directed,1,keeps archive of,,1.0\n",
        ),
        TYPED,
        RELATED,
    ),
    "gephi tables without labels of edges": (
        _text(
            nodes_dot_csv=f"Id;Label;timeset\n1;{MARTA};\n2;{MUSEUM};\n3;{TOMAS};\n",
            edges_dot_csv="Source;Target;Type;Id;Weight\n1;2;Undirected;0;2.0\n3;2;Undirected;1;1.0\n",
        ),
        UNTYPED,
        UNLABELLED,
    ),
    "yed": (
        _text(g_dot_graphml=f"""
<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <!--Created by yEd 3.23-->
  <key attr.name="Description" attr.type="string" for="graph" id="d0"/>
  <key for="port" id="d1" yfiles.type="portgraphics"/>
  <key attr.name="url" attr.type="string" for="node" id="d3"/>
  <key attr.name="description" attr.type="string" for="node" id="d4"/>
  <key for="node" id="d5" yfiles.type="nodegraphics"/>
  <key for="graphml" id="d6" yfiles.type="resources"/>
  <key for="edge" id="d9" yfiles.type="edgegraphics"/>
  <graph edgedefault="directed" id="G"><data key="d0" xml:space="preserve"/>
    <node id="n0"><data key="d4" xml:space="preserve"><![CDATA[A director.]]></data><data key="d5"><y:ShapeNode>
      <y:Geometry height="30.0" width="30.0" x="1" y="2"/><y:NodeLabel alignment="center">{MARTA}<y:LabelModel>
      <y:SmartNodeLabelModel distance="4.0"/></y:LabelModel></y:NodeLabel><y:Shape type="rectangle"/></y:ShapeNode></data></node>
    <node id="n1" yfiles.foldertype="group"><data key="d5"><y:ProxyAutoBoundsNode><y:Realizers active="0"><y:GroupNode>
      <y:NodeLabel>{MUSEUM}</y:NodeLabel></y:GroupNode><y:GroupNode><y:NodeLabel hasText="false"/></y:GroupNode></y:Realizers>
      </y:ProxyAutoBoundsNode></data>
      <graph edgedefault="directed" id="n1:"><node id="n1::n0"><data key="d5"><y:ShapeNode><y:NodeLabel>Tomas
Weill</y:NodeLabel></y:ShapeNode></data></node></graph></node>
    <edge id="e0" source="n0" target="n1"><data key="d9"><y:PolyLineEdge><y:Path sx="0" sy="0"/>
      <y:EdgeLabel>directs<y:LabelModel><y:SmartEdgeLabelModel/></y:LabelModel></y:EdgeLabel></y:PolyLineEdge></data></edge>
    <edge id="e1" source="n1::n0" target="n1"><data key="d9"><y:PolyLineEdge><y:EdgeLabel>keeps archive of</y:EdgeLabel>
      </y:PolyLineEdge></data></edge>
  </graph><data key="d6"><y:Resources/></data>
</graphml>"""),
        UNTYPED,
        RELATED,
    ),
    "cytoscape graphml": (
        _text(g_dot_graphml=f"""
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="shared name" for="node" attr.name="shared name" attr.type="string"/><key id="name" for="node" attr.name="name" attr.type="string"/>
<key id="selected" for="node" attr.name="selected" attr.type="boolean"/><key id="type" for="node" attr.name="type" attr.type="string"/>
<key id="e" for="edge" attr.name="name" attr.type="string"/><key id="i" for="edge" attr.name="shared interaction" attr.type="string"/>
<graph edgedefault="directed" id="net">
<node id="61"><data key="shared name">{MARTA}</data><data key="name">{MARTA}</data><data key="selected">false</data><data key="type">Person</data></node>
<node id="62"><data key="name">{MUSEUM}</data><data key="type">Museum</data></node>
<node id="63"><data key="name">{TOMAS}</data><data key="type">Person</data></node>
<edge id="71" source="61" target="62"><data key="e">{MARTA} (directs) {MUSEUM}</data><data key="i">directs</data></edge>
<edge id="72" source="63" target="62"><data key="e">x</data><data key="i">keeps archive of</data></edge></graph></graphml>"""),
        TYPED,
        RELATED,
    ),
    "cytoscape cyjs": (
        _json("net.cyjs", {"format_version": "1.0", "generated_by": "cytoscape-3.10.1", "data": {"name": "net"}, "elements": _CYTOSCAPE}),
        TYPED,
        RELATED,
    ),
    "cytoscape.js flat": (_json("elements.json", [*_CYTOSCAPE["nodes"], *_CYTOSCAPE["edges"]]), TYPED, RELATED),
    "cytoscape sif": (
        _text(net_dot_sif=f"{MARTA}\tdirects\t{MUSEUM}\n{TOMAS}\tkeeps archive of\t{MUSEUM}\n"),
        set(),
        RELATED,
    ),
    "cytoscape cx": (
        _json("net.cx", [
            {"numberVerification": [{"longNumber": 281474976710655}]},
            {"nodes": [{"@id": 1, "n": MARTA}, {"@id": 2, "n": MUSEUM}, {"@id": 3, "n": TOMAS}]},
            {"edges": [{"@id": 7, "s": 1, "t": 2, "i": "directs"}, {"@id": 8, "s": 3, "t": 2}]},
            {"nodeAttributes": [{"po": 1, "n": "type", "v": "Person"}, {"po": 3, "n": "type", "v": "Person"},
                                {"po": 2, "n": "type", "v": "Museum"}]},
            {"edgeAttributes": [{"po": 8, "n": "interaction", "v": "keeps archive of"}]},
            {"status": [{"error": "", "success": True}]},
        ]),
        TYPED,
        RELATED,
    ),
    "cytoscape cx2": (
        _json("net.cx2", [
            {"CXVersion": "2.0", "hasFragments": False},
            {"attributeDeclarations": [{"nodes": {"name": {"a": "n", "d": "string"}, "type": {"d": "string"}},
                                        "edges": {"interaction": {"a": "i", "d": "string"}}}]},
            {"nodes": [{"id": 1, "x": 0, "v": {"n": MARTA, "type": "Person"}}, {"id": 2, "v": {"n": MUSEUM, "type": "Museum"}},
                       {"id": 3, "v": {"n": TOMAS, "type": "Person"}}]},
            {"edges": [{"id": 7, "s": 1, "t": 2, "v": {"i": "directs"}}, {"id": 8, "s": 3, "t": 2, "v": {"i": "keeps archive of"}}]},
        ]),
        TYPED,
        RELATED,
    ),
    "apoc csv": (
        _text(all_dot_csv=f"""
"_id","_labels","born","name","_start","_end","_type","since"
"0",":Person:Director","1901","{MARTA}",,,,
"1",":Museum","","{MUSEUM}",,,,
"2",":Person","1905","{TOMAS}",,,,
,,,,"0","1","DIRECTS","1911"
,,,,"2","1","KEEPS_ARCHIVE_OF","1920"
"""),
        TYPED,
        RELATED,
    ),
    "apoc csv for the importer": (
        _text(
            g_dot_nodes_dot_Person_dot_csv=f":ID,name:STRING,born:INTEGER,:LABEL\n0,{MARTA},1901,Person;Director\n2,{TOMAS},,Person\n",
            g_dot_nodes_dot_Museum_dot_csv=f":ID,name:STRING,:LABEL\n1,{MUSEUM},Museum\n",
            g_dot_relationships_dot_csv=":START_ID,:END_ID,:TYPE,since:INTEGER\n0,1,DIRECTS,1911\n2,1,KEEPS_ARCHIVE_OF,\n",
        ),
        TYPED,
        RELATED,
    ),
    "apoc json lines": (
        lambda folder: _write(folder / "all.json", "\n".join(map(json.dumps, [*_APOC_NODES, *_APOC_EDGES]))),
        TYPED,
        RELATED,
    ),
    "apoc jsonl": (
        lambda folder: _write(folder / "all.jsonl", "\n".join(map(json.dumps, [*_APOC_EDGES, *_APOC_NODES]))),
        TYPED,
        RELATED,
    ),
    "apoc json": (_json("all.json", {"nodes": _APOC_NODES, "rels": _APOC_EDGES}), TYPED, RELATED),
    "apoc json array": (_json("all.json", [*_APOC_NODES, *_APOC_EDGES]), TYPED, RELATED),
    "apoc json by ids": (
        _json("all.json", {"nodes": {one["id"]: one for one in _APOC_NODES}, "rels": {one["id"]: one for one in _APOC_EDGES}}),
        TYPED,
        RELATED,
    ),
    "apoc graphml": (
        _text(g_dot_graphml=f"""
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="name" for="node" attr.name="name" attr.type="string"/>
<key id="aka" for="node" attr.name="aka" attr.type="string" attr.list="string"/><key id="labels" for="node" attr.name="labels" attr.type="string"/>
<key id="label" for="edge" attr.name="label" attr.type="string"/><graph id="G" edgedefault="directed">
<node id="n0" labels=":Person:Director"><data key="labels">:Person:Director</data><data key="name">{MARTA}</data><data key="aka">["M.", "L."]</data></node>
<node id="n1" labels=":Museum"><data key="labels">:Museum</data><data key="name">{MUSEUM}</data></node>
<node id="n2" labels=":Person"><data key="labels">:Person</data><data key="name">{TOMAS}</data></node>
<edge id="e0" source="n0" target="n1" label="DIRECTS"><data key="label">DIRECTS</data></edge>
<edge id="e1" source="n2" target="n1" label="KEEPS_ARCHIVE_OF"><data key="label">KEEPS_ARCHIVE_OF</data></edge></graph></graphml>"""),
        TYPED,
        RELATED,
    ),
    "neo4j browser json": (
        lambda folder: (folder / "records.json").write_text(
            json.dumps([{"n": _NEO4J_NODES[0], "r": _NEO4J_EDGES[0], "m": _NEO4J_NODES[1]},
                        {"n": _NEO4J_NODES[2], "r": _NEO4J_EDGES[1], "m": _NEO4J_NODES[1]}]), "utf-8-sig"),
        TYPED,
        RELATED,
    ),
    "neo4j browser json of paths": (
        _json("records.json", [
            {"p": {"start": _NEO4J_NODES[n], "end": _NEO4J_NODES[1], "length": 1.0,
                   "segments": [{"start": _NEO4J_NODES[n], "relationship": _NEO4J_EDGES[e], "end": _NEO4J_NODES[1]}]}}
            for n, e in ((0, 0), (2, 1))
        ]),
        TYPED,
        RELATED,
    ),
    "neo4j http": (
        _json("result.json", {"results": [{"columns": ["n"], "data": [{"row": [{}], "graph": {
            "nodes": [{"id": one["identity"], "labels": one["labels"], "properties": one["properties"]} for one in _NEO4J_NODES],
            "relationships": [{"id": one["identity"], "type": one["type"], "startNode": one["start"], "endNode": one["end"],
                               "properties": one["properties"]} for one in _NEO4J_EDGES]}}]}], "errors": []}),
        TYPED,
        RELATED,
    ),
    "neo4j importer with header files": (
        _text(
            persons__header_dot_csv="personId:ID(Person),name,born:int,tags:string[],:LABEL\n",
            persons_dot_csv=f"1,{MARTA},1901,curator;painter,Person\n2,{TOMAS},1905,,Person;Archivist\n",
            houses__header_dot_csv="houseId:ID(House),name,:LABEL\n",
            houses__1_dot_csv=f"1,{MUSEUM},Museum\n",
            rels__header_dot_csv=":START_ID(Person),:END_ID(House),since:int,:TYPE\n",
            rels_dot_csv="1,1,1911,DIRECTS\n2,1,1920,KEEPS_ARCHIVE_OF\n",
        ),
        TYPED,
        RELATED,
    ),
    "neptune": (
        _text(
            v_dot_csv=f"~id,~label,name:String,born:Int\nv0,Person,{MARTA},1901\nv1,Museum,{MUSEUM},\nv2,Person,{TOMAS},\n",
            e_dot_csv="~id,~from,~to,~label,weight:Double\ne0,v0,v1,directs,2\ne1,v2,v1,keeps archive of,1\n",
        ),
        TYPED,
        RELATED,
    ),
    "tinkerpop graphml": (
        _text(g_dot_graphml=f"""
<?xml version='1.0'?><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="labelV" for="node" attr.name="labelV" attr.type="string"/>
<key id="name" for="node" attr.name="name" attr.type="string"/><key id="labelE" for="edge" attr.name="labelE" attr.type="string"/>
<graph id="G" edgedefault="directed"><node id="1"><data key="labelV">Person</data><data key="name">{MARTA}</data></node>
<node id="2"><data key="labelV">Museum</data><data key="name">{MUSEUM}</data></node><node id="3"><data key="labelV">Person</data><data key="name">{TOMAS}</data></node>
<edge id="7" source="1" target="2"><data key="labelE">directs</data></edge>
<edge id="8" source="3" target="2"><data key="labelE">keeps archive of</data></edge></graph></graphml>"""),
        TYPED,
        RELATED,
    ),
    "arangodb": (
        _text(
            persons_dot_csv=f'"_key","_id","name","type"\n"1","things/1","{MARTA}","Person"\n"2","things/2","{MUSEUM}","Museum"\n"3","things/3","{TOMAS}","Person"\n',
            edges_dot_csv='"_from","_to","_key","relation"\n"things/1","things/2","9","directs"\n"things/3","things/2","8","keeps archive of"\n',
        ),
        TYPED,
        RELATED,
    ),
    "networkx graphml": (lambda folder: networkx.write_graphml_xml(_networkx(), folder / "g.graphml"), TYPED, RELATED),
    "networkx gexf": (
        lambda folder: networkx.write_gexf(networkx.relabel_nodes(networkx.DiGraph(_networkx()), {1: MARTA, 2: MUSEUM, 3: TOMAS}), folder / "g.gexf"),
        TYPED,
        RELATED,
    ),
    "networkx gml": (lambda folder: networkx.write_gml(networkx.DiGraph(_networkx()), folder / "g.gml"), TYPED, RELATED),
    "networkx node link": (
        lambda folder: _write(folder / "g.json", json.dumps(networkx.node_link_data(_networkx(), edges="links"))),
        TYPED,
        RELATED,
    ),
    "networkx node link of edges": (
        lambda folder: _write(folder / "g.json", json.dumps(networkx.node_link_data(_networkx(), edges="edges"))),
        TYPED,
        RELATED,
    ),
    "networkx adjacency": (
        lambda folder: _write(folder / "g.json", json.dumps(networkx.adjacency_data(_networkx()))),
        TYPED,
        RELATED,
    ),
    "networkx cytoscape": (
        lambda folder: _write(folder / "g.json", json.dumps(networkx.cytoscape_data(_networkx()))),
        TYPED,
        RELATED,
    ),
    "networkx edge list": (
        lambda folder: networkx.write_edgelist(_by_name(), folder / "g.edgelist"),
        set(),
        {("Marta_Lindqvist", "directs", "Museum")},
    ),
    "networkx edge list as text": (
        lambda folder: networkx.write_edgelist(_by_name(), folder / "g.txt"),
        set(),
        {("Marta_Lindqvist", "directs", "Museum")},
    ),
    "networkx weighted edge list": (
        lambda folder: _write(folder / "g.txt", "1 2 0.5\n3 2 1.0\n"),
        set(),
        {("1", "related_to", "2"), ("3", "related_to", "2")},
    ),
    "networkx adjacency list": (
        lambda folder: networkx.write_adjlist(_by_name(), folder / "g.adjlist"),
        {("Marta_Lindqvist", "UNKNOWN"), ("Museum", "UNKNOWN")},
        {("Marta_Lindqvist", "related_to", "Museum")},
    ),
    "networkx pajek": (
        lambda folder: networkx.write_pajek(networkx.relabel_nodes(networkx.MultiDiGraph(_networkx().edges()), {1: MARTA, 2: MUSEUM, 3: TOMAS}), folder / "g.net"),
        UNTYPED,
        UNLABELLED,
    ),
    "pajek": (
        _text(g_dot_net=f'*Network museum\n*Vertices 3\n1 "{MARTA}" 0.1 0.2 0.5 ic Red\n2 "{MUSEUM}"\n3 "{TOMAS}"\n*Arcs :1 "directs"\n1 2 1\n*Edges\n3 2 1.5 l "keeps archive of"\n'),
        UNTYPED,
        RELATED,
    ),
    "igraph graphml": (lambda folder: _igraph().write_graphml(str(folder / "g.graphml")), TYPED, RELATED),
    "igraph gml": (lambda folder: _igraph().write_gml(str(folder / "g.gml")), TYPED, RELATED),
    "igraph ncol": (
        lambda folder: _write(folder / "g.ncol", "Marta Museum 2.5\nTomas Museum 1\n"),
        set(),
        {("Marta", "related_to", "Museum"), ("Tomas", "related_to", "Museum")},
    ),
    "igraph data frames": (
        _text(
            vertices_dot_csv=f'"","name","type"\n"1","{MARTA}","Person"\n"2","{MUSEUM}","Museum"\n"3","{TOMAS}","Person"\n',
            edges_dot_csv=f'"","from","to","relation"\n"1","{MARTA}","{MUSEUM}","directs"\n"2","{TOMAS}","{MUSEUM}","keeps archive of"\n',
        ),
        TYPED,
        RELATED,
    ),
    "pandas with floats": (
        _text(
            nodes_dot_csv=f"id,name,type\n1,{MARTA},Person\n2,{MUSEUM},Museum\n3,{TOMAS},Person\n",
            edges_dot_csv="source,target,relation\n1.0,2.0,directs\n3.0,2.0,keeps archive of\n,2.0,visits\nNaN,2.0,visits\n",
        ),
        TYPED,
        RELATED,
    ),
    "pandas with floats among others": (
        _text(
            nodes_dot_csv=f"id,name,type\n1,{MARTA},Person\n1000,{MUSEUM},Museum\n3.0,{TOMAS},Person\n",
            edges_dot_csv='source,target,relation\n1.0,"1,000",directs\n3,1e+03,keeps archive of\n',
        ),
        TYPED,
        RELATED,
    ),
    "pandas with its index": (
        _text(
            nodes_dot_csv=f",name,type\n0,{MARTA},Person\n1,{MUSEUM},Museum\n2,{TOMAS},Person\n",
            edges_dot_csv=",source,target,relation\n0,0,1,directs\n1,2,1,keeps archive of\n",
        ),
        TYPED,
        RELATED,
    ),
    "pandas json": (
        _json("edges.json", {"source": {"0": MARTA, "1": TOMAS}, "target": {"0": MUSEUM, "1": MUSEUM}, "relation": {"0": "directs", "1": "keeps archive of"}}),
        set(),
        RELATED,
    ),
    "pandas json split": (
        _json("edges.json", {"columns": ["source", "target", "relation"], "index": [0, 1], "data": [[MARTA, MUSEUM, "directs"], [TOMAS, MUSEUM, "keeps archive of"]]}),
        set(),
        RELATED,
    ),
    "records": (
        _json("edges.json", [{"source": MARTA, "target": MUSEUM, "relation": "directs"}, {"source": TOMAS, "target": MUSEUM, "relation": "keeps archive of"}]),
        set(),
        RELATED,
    ),
    "triples in json": (_json("t.json", [[MARTA, "directs", MUSEUM], [TOMAS, "keeps archive of", MUSEUM]]), set(), RELATED),
    "d3": (
        _json("d3.json", {
            "nodes": [{"name": MARTA, "type": "Person"}, {"name": MUSEUM, "type": "Museum"}, {"name": TOMAS, "type": "Person"}],
            "links": [{"source": MARTA, "target": MUSEUM, "label": "directs", "value": 3}, {"source": TOMAS, "target": MUSEUM, "label": "keeps archive of"}],
        }),
        TYPED,
        RELATED,
    ),
    "d3 by place": (
        _json("d3.json", {
            "nodes": [{"name": MARTA, "type": "Person"}, {"name": MUSEUM, "type": "Museum"}, {"name": TOMAS, "type": "Person"}],
            "links": [{"source": 0, "target": 1, "type": "directs"}, {"source": 2, "target": 1, "type": "keeps archive of"}],
        }),
        TYPED,
        RELATED,
    ),
    "sigma": (
        _json("g.json", {
            "attributes": {"name": "net"}, "options": {"type": "mixed", "multi": True},
            "nodes": [{"key": "a", "attributes": {"label": MARTA, "category": "Person"}}, {"key": "b", "attributes": {"label": MUSEUM, "category": "Museum"}},
                      {"key": "c", "attributes": {"label": TOMAS, "category": "Person"}}],
            "edges": [{"key": "e", "source": "a", "target": "b", "undirected": True, "attributes": {"label": "directs"}},
                      {"key": "f", "source": "c", "target": "b", "attributes": {"label": "keeps archive of"}}],
        }),
        TYPED,
        RELATED,
    ),
    "vis.js": (
        _json("g.json", {
            "nodes": [{"id": 1, "label": MARTA, "type": "Person"}, {"id": 2, "label": MUSEUM, "type": "Museum"}, {"id": 3, "label": TOMAS, "type": "Person"}],
            "edges": [{"from": 1, "to": 2, "label": "directs"}, {"from": 3, "to": 2, "label": "keeps archive of"}],
        }),
        TYPED,
        RELATED,
    ),
    "json graph format": (
        _json("g.json", {"graph": {"directed": True, "nodes": {"a": {"label": MARTA, "metadata": {"type": "Person"}}, "b": {"label": MUSEUM, "metadata": {"type": "Museum"}},
                                                               "c": {"label": TOMAS, "metadata": {"type": "Person"}}},
                                   "edges": [{"source": "a", "relation": "directs", "target": "b"}, {"source": "c", "relation": "keeps archive of", "target": "b"}]}}),
        TYPED,
        RELATED,
    ),
    "langchain": (
        _json("g.json", [{
            "nodes": [{"id": MARTA, "type": "Person", "properties": {}}, {"id": MUSEUM, "type": "Museum", "properties": {}}, {"id": TOMAS, "type": "Person"}],
            "relationships": [{"source": {"id": MARTA, "type": "Person"}, "target": {"id": MUSEUM, "type": "Museum"}, "type": "DIRECTS", "properties": {}},
                              {"source": {"id": TOMAS}, "target": {"id": MUSEUM}, "type": "KEEPS_ARCHIVE_OF"}],
            "source": {"page_content": "…", "type": "Document"},
        }]),
        TYPED,
        RELATED,
    ),
    "lightrag api": (
        _json("g.json", {
            "nodes": [{"id": name, "labels": [name], "properties": {"entity_id": name, "entity_type": kind, "description": "A.<SEP>B."}} for name, kind in sorted(TYPED)],
            "edges": [{"id": "1", "type": "DIRECTED", "source": MARTA, "target": MUSEUM, "properties": {"keywords": "directs", "weight": 1.0}},
                      {"id": "2", "type": "DIRECTED", "source": TOMAS, "target": MUSEUM, "properties": {"keywords": "keeps archive of"}}],
        }),
        TYPED,
        RELATED,
    ),
    "kumu": (
        _text(
            elements_dot_csv=f"Label,Type,Description\n{MARTA},Person,\n{MUSEUM},Museum,\n{TOMAS},Person,\n",
            connections_dot_csv=f"From,To,Direction,Label\n{MARTA},{MUSEUM},directed,directs\n{TOMAS},{MUSEUM},directed,keeps archive of\n",
        ),
        TYPED,
        RELATED,
    ),
    "tables with ids of one kind": (
        _text(
            people_dot_csv=f"thing_id,thing_name,type\n1,{MARTA},Person\n2,{MUSEUM},Museum\n3,{TOMAS},Person\n",
            links_dot_csv="fromNodeId\ttoNodeId\tlinkType\n1\t2\tdirects\n3\t2\tkeeps archive of\n",
        ),
        TYPED,
        RELATED,
    ),
    "protégé rdf/xml": (
        _text(o_dot_owl=f"""
<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
    <!ENTITY owl "http://www.w3.org/2002/07/owl#" >
    <!ENTITY rdfs "http://www.w3.org/2000/01/rdf-schema#" >
]>
<rdf:RDF xmlns="http://e.org/o#" xml:base="http://e.org/o" xmlns:o="http://e.org/o#" xmlns:rdf="{_RDF}" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
  <owl:Class rdf:about="http://e.org/o#C1"><rdfs:label xml:lang="de">Mensch</rdfs:label><rdfs:label xml:lang="en">Person</rdfs:label></owl:Class>
  <owl:Class rdf:about="http://e.org/o#C2"><rdfs:label>Museum</rdfs:label></owl:Class>
  <owl:ObjectProperty rdf:about="http://e.org/o#P1"><rdfs:label>directs</rdfs:label></owl:ObjectProperty>
  <owl:ObjectProperty rdf:about="http://e.org/o#P2"><rdfs:label>keeps archive of</rdfs:label></owl:ObjectProperty>
  <owl:NamedIndividual rdf:about="http://e.org/o#i1"><rdf:type rdf:resource="http://e.org/o#C1"/><rdfs:label>{MARTA}</rdfs:label>
    <o:P1 rdf:resource="http://e.org/o#i2"/></owl:NamedIndividual>
  <rdf:Description rdf:about="http://e.org/o#i2"><rdf:type rdf:resource="&owl;NamedIndividual"/><rdf:type rdf:resource="http://e.org/o#C2"/>
    <rdfs:label>{MUSEUM}</rdfs:label></rdf:Description>
  <owl:NamedIndividual rdf:about="#i3"><rdf:type rdf:resource="#C1"/><rdfs:label>{TOMAS}</rdfs:label><o:P2 rdf:resource="#i2"/></owl:NamedIndividual>
</rdf:RDF>"""),
        TYPED | _OF_CLASSES | _OF_PROPERTIES,
        RELATED,
    ),
    "protégé turtle named owl": (
        lambda folder: _write(folder / "o.owl", f'{_PREFIXES}:i1 a owl:NamedIndividual, :Person ; rdfs:label "{MARTA}" ; :directs :i2 .\n'
                              f':i2 a :Museum, owl:NamedIndividual ; rdfs:label "{MUSEUM}"@en . :i3 a :Person ; rdfs:label "{TOMAS}" ; :keepsArchiveOf :i2 .'),
        TYPED,
        RELATED,
    ),
    "skos": (
        lambda folder: _write(folder / "s.ttl", f'{_PREFIXES}:1 a :Person ; skos:prefLabel "{MARTA}"@en, "M. L."@de ; skos:altLabel "Marta" ; :directs :2 .\n'
                              f':2 a :Museum ; skos:prefLabel "{MUSEUM}" . :3 a :Person ; skos:altLabel "{TOMAS}" ; :keepsArchiveOf :2 .'),
        TYPED,
        RELATED,
    ),
    "foaf and dublin core": (
        lambda folder: _write(folder / "f.ttl", f'{_PREFIXES}:1 a :Person ; foaf:name "{MARTA}" ; :directs :2 .\n'
                              f':2 a :Museum ; dct:title "{MUSEUM}" ; dct:description "Old." . :3 a :Person ; foaf:name "{TOMAS}" ; :keepsArchiveOf :2 .'),
        TYPED,
        RELATED,
    ),
    "schema.org json-ld": (
        _json("s.jsonld", {"@context": "https://schema.org/", "@graph": [
            {"@id": "http://e.org/1", "@type": "Person", "name": MARTA, "directs": {"@id": "http://e.org/2"}},
            {"@id": "http://e.org/2", "@type": "Museum", "name": MUSEUM},
            {"@id": "http://e.org/3", "@type": "Person", "name": TOMAS, "keepsArchiveOf": {"@id": "http://e.org/2"}}]}),
        TYPED,
        RELATED,
    ),
    "json-ld in json": (
        _json("s.json", {"@context": {"@vocab": "http://e.org/", "label": "http://www.w3.org/2000/01/rdf-schema#label"}, "@graph": [
            {"@id": "http://e.org/1", "@type": "Person", "label": MARTA, "directs": {"@id": "http://e.org/2"}},
            {"@id": "http://e.org/2", "@type": "Museum", "label": MUSEUM},
            {"@id": "http://e.org/3", "@type": "Person", "label": TOMAS, "keepsArchiveOf": {"@id": "http://e.org/2"}}]}),
        TYPED,
        RELATED,
    ),
    "wikidata": (
        lambda folder: _write(folder / "w.ttl", f'{_PREFIXES}wd:Q1 a wikibase:Item ; rdfs:label "{MARTA}"@en ; wdt:P31 wd:Q5 ; wdt:P1 wd:Q2 .\n'
                              f'wd:Q2 a wikibase:Item ; rdfs:label "{MUSEUM}"@en ; wdt:P31 wd:Q6 . wd:Q3 rdfs:label "{TOMAS}"@de ; wdt:P31 wd:Q5 ; wdt:P2 wd:Q2 .\n'
                              'wd:Q5 rdfs:label "Person"@en . wd:Q6 rdfs:label "Museum"@en . wd:P31 rdfs:label "instance of"@en .\n'
                              'wd:P1 rdfs:label "directs"@en . wd:P2 rdfs:label "keeps archive of"@en .'),
        TYPED | {(name, "UNKNOWN") for name in ("Person", "Museum", "instance of", "directs", "keeps archive of")},
        RELATED | {(MARTA, "instance_of", "Person"), (TOMAS, "instance_of", "Person"), (MUSEUM, "instance_of", "Museum")},
    ),
    "n-quads": (
        lambda folder: _write(folder / "q.nq", f'<http://e.org/{MARTA.replace(" ", "%20")}> <http://e.org/directs> <http://e.org/{MUSEUM.replace(" ", "%20")}> <http://e.org/g> .\n'
                              f'<http://e.org/{TOMAS.replace(" ", "%20")}> <http://e.org/keepsArchiveOf> <http://e.org/{MUSEUM.replace(" ", "%20")}> .\n'),
        set(),
        RELATED,
    ),
    "trig": (
        lambda folder: _write(folder / "t.trig", f'{_PREFIXES}:g {{ :1 a :Person ; rdfs:label "{MARTA}" ; :directs :2 . }}\n'
                              f':2 a :Museum ; rdfs:label "{MUSEUM}" . :3 a :Person ; rdfs:label "{TOMAS}" ; :keepsArchiveOf :2 .'),
        TYPED,
        RELATED,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def taken_in(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """All cases as folders of one corpus, taken in at once."""
    with pytest.MonkeyPatch.context() as patch:
        home = enter_home(patch, tmp_path_factory.mktemp("tools"))
        corpus = home / "corpora" / "tools"
        for number, (write, _, _) in enumerate(CASES.values()):
            (folder := corpus / f"{number:03}").mkdir(parents=True)
            write(folder)
        (corpus / "corpus.yaml").write_text("kind: graph\n", "utf-8")
        import_graphs(CorpusStore(), Warehouse(), "tools")
        wanted = (
            IMPORTED_ENTITIES,
            IMPORTED_RELATIONS,
            IMPORT_ACCOUNT,
            IMPORTED_FILES,
        )
        return {one.name: Warehouse().read(one, "tools") for one in wanted}


@pytest.mark.parametrize("tool", CASES)
def test_the_graph_is_that_of_the_tool(tool: str, taken_in: dict[str, pl.DataFrame]) -> None:
    _, entities, relations = CASES[tool]
    place = pl.col("path").str.starts_with(f"{list(CASES).index(tool):03}/")
    told = {name: frame.filter(place) for name, frame in taken_in.items()}
    assert set(told["entities"].select("title", "type").rows()) == entities, told["files"].to_dicts()
    assert set(told["relations"].select("head", "relation", "tail").rows()) == relations
    assert not set(told["account"]["outcome"]) & {"dangling", "repaired"}
    assert not told["entities"]["description"].str.contains("<SEP>", literal=True).any()


def test_lists_of_one_entry_that_networkx_writes_are_such_lists(tmp_path: Path) -> None:
    graph = networkx.DiGraph()
    graph.add_node("Ada", one=["x"], two=["x", "y"], numbers=[1])
    graph.add_edge("Ada", "Bo", sources=["s1"])
    networkx.write_gml(graph, tmp_path / "g.gml")
    read = read_folder(tmp_path)
    assert json.loads(read.rows("entities")[0]["attributes"]) == {
        "one": ["x"],
        "two": ["x", "y"],
        "numbers": [1],
    }
    assert json.loads(read.rows("relations")[0]["attributes"])["sources"] == ["s1"]
