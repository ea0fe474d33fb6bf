"""A snapshot as a graph: GraphML, RDF, and files for Neo4j."""

from collections.abc import Callable

from graphrag_dagster.apps.interchange.exporting.imported_properties import Property, as_read, property_rows
from graphrag_dagster.apps.interchange.exporting.imported_statements import (
    imported_network,
    imported_properties,
    imported_resources,
)
from graphrag_dagster.apps.interchange.exporting.own_graph import (
    community_graph,
    edges_of,
    own_graph,
    own_network,
)
from graphrag_dagster.apps.interchange.exporting.source import Source, kept_of
from graphrag_dagster.apps.interchange.exporting.statements import write_statements
from graphrag_dagster.apps.interchange.writers.folder import Making
from graphrag_dagster.apps.interchange.writers.graph import Edges, Graph, Nodes
from graphrag_dagster.apps.interchange.writers.graphml import write_graphml
from graphrag_dagster.apps.interchange.writers.neo4j import cypher, file_of, importing, write_csv
from graphrag_dagster.apps.interchange.writers.ntriples import NTriples
from graphrag_dagster.apps.interchange.writers.vocabulary import Things
from graphrag_dagster.kernel.common.printable import counted


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


def _records(source: Source, kind: str, table: str, *read: Property) -> Nodes:
    rows = property_rows(source, table, *read)
    query = f"""
        select {_key(source, table)} as ":id", {rows.properties}
        from {rows.table} as b
        qualify row_number() over (partition by ":id" order by b.path, b."row") = 1
        order by b.path, b."row"
    """
    return Nodes(kind, source.rows(query))


def _key(source: Source, table: str, key: str = "b.key") -> str:
    """Return the expression of an id; where several graphs have the same, with the graph before it."""
    shared = source.value(f"select 1 from {table} group by key having count(distinct graph) > 1 limit 1")
    return f"(b.graph || '/' || {key})" if shared else key


def imported_graph(
    source: Source, entities: Nodes, stated: Edges, *, communities: bool, reports: bool
) -> Graph:
    """Return all kinds of nodes and edges of what came.

    Args:
        source: the snapshot.
        entities: as they are written.
        stated: likewise, what is stated of them.
        communities: those that came are the corpus's; else it has its own.
        reports: likewise, where the communities are.
    """
    texts = [
        _records(source, "Document", "imports_documents", *as_read("title", "text")),
        _records(source, "TextUnit", "imports_text_units", *as_read("text")),
    ]
    about = ("type", "status", "description", "start_date", "end_date", "quote")
    claims = _records(source, "Claim", "imports_claims", *as_read(*about))
    clustered = _communities(source, reports=reports) if communities else community_graph(source)
    return Graph(
        [*texts, entities, claims, *clustered.nodes],
        [stated, *edges_of(source, _edges(source)), *clustered.edges],
    )


def repeated(source: Source) -> list[str]:
    """Return which rows are not written, a sentence for each table: of one thing, a node has the first."""
    records = ("documents", "text_units", "claims", "communities", "reports")
    keys = {"entities": "name", **dict.fromkeys(records, "(graph, key)")}
    found = {
        name: source.value(f"select count(*) - count(distinct {key}) from imports_{name}")
        for name, key in keys.items()
    }
    return [
        f"{counted(count, 'row')} of imports.{name} left out: of several rows of one, the first is written"
        for name, count in found.items()
        if count
    ]


def _edges(source: Source) -> dict[tuple[str, str, str], str]:
    def key(table: str, name: str) -> str:
        return _key(source, f"imports_{table}", name)

    def spread(table: str, lists: str, begins: str, ends: str, joined: str = "") -> str:
        return f"""
            select {begins} as ":source", {ends} as ":target"
            from (
                select *, unnest({lists}) as one, generate_subscripts({lists}, 1) as place
                from imports_{table}
            ) as b
            {joined}
            order by b.path, b."row", b.place
        """

    def to_entity(column: str) -> str:
        return f"""
            select {key("claims", "b.key")} as ":source", n.id as ":target"
            from imports_claims as b
            inner join pg_nodes as n on n.name = b.{column}
            order by b.path, b."row"
        """

    unit = key("text_units", "b.one")
    return {
        ("TextUnit", "PART_OF", "Document"): spread(
            "text_units", "document_keys", key("text_units", "b.key"), key("documents", "b.one")
        ),
        ("Entity", "MENTIONED_IN", "TextUnit"): spread(
            "entities", "text_unit_keys", "n.id", unit, "inner join pg_nodes as n on n.name = b.name"
        ),
        ("Claim", "SUBJECT", "Entity"): to_entity("subject"),
        ("Claim", "OBJECT", "Entity"): to_entity("object"),
        ("Claim", "STATED_IN", "TextUnit"): f"""
            select {key("claims", "b.key")} as ":source", {key("text_units", "b.text_unit_key")} as ":target"
            from imports_claims as b
            where b.text_unit_key is not null
            order by b.path, b."row"
        """,
    }


def _communities(source: Source, *, reports: bool) -> Graph:
    one = _key(source, "imports_communities")
    level = Property("level", "BIGINT", "b.level")
    nodes = [_records(source, "Community", "imports_communities", level, *as_read("title"))]
    edges = {
        ("Entity", "IN_COMMUNITY", "Community"): f"""
            select n.id as ":source", {one} as ":target"
            from (
                select *, unnest(entity_keys) as one, generate_subscripts(entity_keys, 1) as place
                from imports_communities
            ) as b
            inner join (
                select graph, key, arg_min(name, (path, "row")) as name
                from imports_entities
                group by graph, key
            ) as e on e.graph = b.graph and e.key = b.one
            inner join pg_nodes as n on n.name = e.name
            order by b.path, b."row", b.place
        """,
        ("Community", "CHILD_OF", "Community"): f"""
            select {one} as ":source", {_key(source, "imports_communities", "b.parent_key")} as ":target"
            from imports_communities as b
            where b.parent_key is not null
            order by b.path, b."row"
        """,
    }
    if not reports:
        return Graph(nodes, edges_of(source, edges))
    rating = Property("rating", "DOUBLE", "b.rating")
    told = as_read("title", "summary", "content", "rating_explanation", "findings")
    nodes.append(_records(source, "Report", "imports_reports", level, *told, rating))
    edges["Report", "DESCRIBES", "Community"] = f"""
        select
            {_key(source, "imports_reports")} as ":source",
            {_key(source, "imports_communities", "b.community_key")} as ":target"
        from imports_reports as b
        order by b.path, b."row"
    """
    return Graph(nodes, edges_of(source, edges))
