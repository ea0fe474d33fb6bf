"""A snapshot as a graph: GraphML, RDF, and files for Neo4j."""

from collections.abc import Callable

from graphrag_dagster.core.exporting.folder import Making
from graphrag_dagster.core.exporting.graph import Edges, Graph, Nodes
from graphrag_dagster.core.exporting.graphml import write_graphml
from graphrag_dagster.core.exporting.neo4j import cypher, file_of, importing, write_csv
from graphrag_dagster.core.exporting.ntriples import NTriples
from graphrag_dagster.core.exporting.vocabulary import Things
from graphrag_dagster.operations.exporting.imported_graph import imported_graph, repeated
from graphrag_dagster.operations.exporting.imported_statements import (
    imported_network,
    imported_properties,
    imported_resources,
)
from graphrag_dagster.operations.exporting.kept import kept_of
from graphrag_dagster.operations.exporting.own_graph import own_graph, own_network
from graphrag_dagster.operations.exporting.source import Source
from graphrag_dagster.operations.exporting.statements import write_statements


def write_network(source: Source, made: Making) -> list[str]:
    """Write the entities and what is stated of them as GraphML."""
    nodes, edges = imported_network(source) if kept_of(source).graph else own_network(source)
    path = "graph.graphml"
    counts = write_graphml(made.place(path), nodes, edges)
    made.note(path, sum(counts))
    return _lacking(source)


def write_rdf(source: Source, made: Making) -> list[str]:
    """Write everything as N-Triples; what came as RDF stands as it was in a file of its own."""
    told, corpus = source.snapshot.manifest, source.corpus
    about = {"corpus": corpus, "snapshot": source.snapshot.version, "package": str(told.get("package") or "")}
    run = str(told.get("run_id") or source.snapshot.version)
    path = "graph.nt"
    made.note(
        path, NTriples(Things(corpus), run, about).write(made.place(path), _graph(source, imported_resources))
    )
    write_statements(source, made)
    return _lacking(source)


def write_neo4j(source: Source, made: Making) -> list[str]:
    """Write everything as CSV files for Neo4j, with a script for its importer and one in Cypher."""
    graph = graph_of_nodes(source)
    kinds: list[Nodes | Edges] = [*graph.nodes, *graph.edges]
    for one in kinds:
        file = file_of(one)
        rows = write_csv(made.place(file.path).parent, one, made)
        made.note(file.path, rows)
    made.text("import.sh", importing(graph, source.corpus))
    made.text("load.cypher", cypher(graph))
    return _lacking(source)


def graph_of_nodes(source: Source) -> Graph:
    """Return a snapshot as Neo4j has it; ``pg_nodes`` says the id of the node that an entity's name is."""
    return _graph(source, imported_properties)


def _lacking(source: Source) -> list[str]:
    return repeated(source) if kept_of(source).graph else []


def _graph(source: Source, came: Callable[[Source], tuple[Nodes, Edges]]) -> Graph:
    kept = kept_of(source)
    if not kept.graph:
        return own_graph(source)
    return imported_graph(source, *came(source), communities=kept.communities, reports=kept.reports)
