"""Formats of graphs, and the extensions of their files."""

from collections.abc import Mapping
from typing import Final

from graphrag_dagster.apps.interchange.readers.network_lines import EDGE_LIST, NEIGHBOURS, PAJEK, SIF

DELIMITED: Final = "delimited"
JSONL: Final = "jsonl"
PARQUET: Final = "parquet"
N_TRIPLES: Final = "n-triples"
TURTLE: Final = "turtle"
RDF_XML: Final = "rdf/xml"
N_QUADS: Final = "n-quads"
TRIG: Final = "trig"
N3: Final = "n3"
JSON_LD: Final = "json-ld"
GRAPHML: Final = "graphml"
GEXF: Final = "gexf"
GML: Final = "gml"
JSON_GRAPH: Final = "json graph"
JSON_LINES_OF_NEO4J: Final = "neo4j json lines"
MICROSOFT: Final = "microsoft"
NEO4J: Final = "neo4j"
STORE: Final = "store"
#: What a file holds whose rows are of several records, or not known; nodes and edges, each of which is told.
SEVERAL: Final = "rows"
BOTH: Final = "entities and relations"
RDF_FORMATS: Final = (N_TRIPLES, TURTLE, RDF_XML, N_QUADS, TRIG, N3, JSON_LD)

#: Extension → format of a file that is read by itself.
EXTENSIONS: Mapping[str, str] = {
    ".csv": DELIMITED,
    ".tsv": DELIMITED,
    ".tab": DELIMITED,
    ".txt": DELIMITED,
    ".jsonl": JSONL,
    ".ndjson": JSONL,
    ".parquet": PARQUET,
    ".nt": N_TRIPLES,
    ".ntriples": N_TRIPLES,
    ".ttl": TURTLE,
    ".turtle": TURTLE,
    ".n3": N3,
    ".nq": N_QUADS,
    ".nquads": N_QUADS,
    ".trig": TRIG,
    ".rdf": RDF_XML,
    ".owl": RDF_XML,
    ".rdfs": RDF_XML,
    ".skos": RDF_XML,
    ".jsonld": JSON_LD,
    ".graphml": GRAPHML,
    ".gexf": GEXF,
    ".gml": GML,
    ".json": JSON_GRAPH,
    ".cyjs": JSON_GRAPH,
    ".cx": JSON_GRAPH,
    ".cx2": JSON_GRAPH,
    ".sif": SIF,
    ".net": PAJEK,
    ".paj": PAJEK,
    ".pajek": PAJEK,
    ".edgelist": EDGE_LIST,
    ".edges": EDGE_LIST,
    ".ncol": EDGE_LIST,
    ".adjlist": NEIGHBOURS,
}
#: Extension → what to do with a file that other tools read and this one does not.
SAVED_OTHERWISE: Mapping[str, str] = {
    ".gephi": "a project of Gephi: open it there, and export the graph as GraphML or GEXF",
    ".cys": "a session of Cytoscape: export the network there as GraphML or cyjs",
    ".graphmlz": "a packed GraphML: unpack it with gunzip",
    ".gt": "the binary format of graph-tool: save it as GraphML, g.save('graph.graphml')",
    ".xgmml": "XGMML: export the network from Cytoscape as GraphML or cyjs",
    ".cypher": "Cypher statements, which are not run; export with apoc.export.json.all or "
    "apoc.export.graphml.all, or as CSV, and import that",
    ".cql": "Cypher statements, which are not run; export with apoc.export.json.all or "
    "apoc.export.graphml.all, or as CSV, and import that",
    ".dump": "a dump of a database: load it there, and import from the server with imports.neo4j.uri, or "
    "export it with apoc.export.json.all",
    ".dot": "DOT, which draws graphs: open it in Gephi, and export the graph as GraphML or GEXF",
    ".gv": "DOT, which draws graphs: open it in Gephi, and export the graph as GraphML or GEXF",
    ".dl": "DL of UCINET: open it in Gephi, and export the graph as GraphML or GEXF",
    ".gdf": "GDF: open it in Gephi, and export the graph as GraphML or GEXF",
    ".xlsx": "a workbook: save each sheet as CSV",
    ".xls": "a workbook: save each sheet as CSV",
    ".pkl": "a pickle, which may run code when it is read: write the graph as GraphML instead",
    ".pickle": "a pickle, which may run code when it is read: write the graph as GraphML instead",
    ".gpickle": "a pickle, which may run code when it is read: write the graph as GraphML instead",
    ".ofn": "OWL in functional syntax: save it in Protégé as RDF/XML or Turtle",
    ".omn": "OWL in Manchester syntax: save it in Protégé as RDF/XML or Turtle",
    ".owx": "OWL/XML: save it in Protégé as RDF/XML or Turtle",
    ".obo": "OBO: convert it to OWL or Turtle, for instance with robot convert",
    ".hdt": "HDT: convert it to N-Triples with hdt2rdf",
}
