"""A snapshot as a graph: GraphML, RDF, and files for Neo4j."""

from collections.abc import Callable, Mapping

from graphrag_dagster.apps.interchange.exporting.export_folder import ExportWriter
from graphrag_dagster.apps.interchange.exporting.export_rows import STATED, Edges, ExportGraph, Nodes
from graphrag_dagster.apps.interchange.exporting.export_source import ExportSource, adopted_tables
from graphrag_dagster.apps.interchange.exporting.graphml_writer import write_graphml
from graphrag_dagster.apps.interchange.exporting.imported_graph import (
    ImportedProperty,
    imported_network,
    imported_properties,
    imported_resources,
    properties_as_read,
    property_rows,
    write_statements,
)
from graphrag_dagster.apps.interchange.exporting.neo4j_writer import (
    cypher,
    file_of,
    import_command,
    write_csv,
)
from graphrag_dagster.apps.interchange.exporting.ntriples_writer import NTriples, ResourceIris
from graphrag_dagster.kernel.common.printable import plural

_NODES = {
    "Document": """
        select
            document_id as ":id", human_readable_id, title, text, path, "row", source_id, date, metadata
        from corpus_documents
        order by human_readable_id
    """,
    "TextUnit": """
        select
            text_unit_id as ":id", human_readable_id, position, start_char, end_char, text, tokens
        from corpus_text_chunks
        order by human_readable_id
    """,
    "Claim": """
        select
            claim_id as ":id", human_readable_id, type as claim_type, status, description, start_date,
            end_date, instances
        from graph_claims
        order by human_readable_id
    """,
}
_COMMUNITY_NODES = {
    "Community": """
        select community_id as ":id", human_readable_id, level, is_leaf, size, internal_edges, summed_degree
        from graph_communities
        order by human_readable_id
    """,
    "Report": """
        select
            r.report_id as ":id", r.human_readable_id, r.level, r.title, r.summary, r.content, r.rating,
            r.rating_explanation, f.findings
        from reports_community_reports as r
        left join (
            select
                report_id,
                to_json(
                    list(struct_pack(summary := summary, explanation := explanation) order by position)
                )::varchar as findings
            from reports_report_findings
            group by report_id
        ) as f on f.report_id = r.report_id
        order by r.human_readable_id
    """,
}
_ENTITIES = """
    select
        e.entity_id as ":id", e.human_readable_id, e.name, e.title, e.names, e.type, e.description,
        e.frequency, e.instances, e.degree{more}
    from graph_entities as e{joined}
    order by e.human_readable_id
"""
_STATED = """
    select
        triple_id as ":id", head_id as ":source", tail_id as ":target", relation as ":relation",
        human_readable_id, strength, instances, text_unit_ids, evidence_unit_id, start_char, end_char
    from graph_triples
    order by human_readable_id
"""


def _unit_edges_sql(table: str, key: str) -> str:
    """Edges from records to their text units, in the order of these."""
    return f"""
        select {key} as ":source", unit as ":target"
        from (
            select
                {key}, human_readable_id, unnest(text_unit_ids) as unit,
                generate_subscripts(text_unit_ids, 1) as position
            from {table}
        )
        order by human_readable_id, position
    """


def _claim_edges_sql(end: str) -> str:
    """Edges from claims to the entity that one of their columns names."""
    return f"""
        select c.claim_id as ":source", e.entity_id as ":target"
        from graph_claims as c
        inner join graph_entities as e on e.name = c.{end}
        order by c.human_readable_id
    """


#: Beginning, kind and end of other edges.
_EDGES = {
    ("TextUnit", "PART_OF", "Document"): """
        select text_unit_id as ":source", document_id as ":target"
        from corpus_text_chunks
        order by human_readable_id
    """,
    ("Entity", "MENTIONED_IN", "TextUnit"): _unit_edges_sql("graph_entities", "entity_id"),
    ("Claim", "SUBJECT", "Entity"): _claim_edges_sql("subject"),
    ("Claim", "OBJECT", "Entity"): _claim_edges_sql("object"),
    ("Claim", "STATED_IN", "TextUnit"): _unit_edges_sql("graph_claims", "claim_id"),
}
_COMMUNITY_EDGES = {
    ("Entity", "IN_COMMUNITY", "Community"): """
        select n.id as ":source", c.community_id as ":target"
        from graph_community_members as m
        inner join graph_entities as e on e.entity_id = m.entity_id
        inner join pg_nodes as n on n.name = e.name
        inner join graph_communities as c on c.community_id = m.community_id
        order by c.human_readable_id, e.human_readable_id
    """,
    ("Community", "CHILD_OF", "Community"): """
        select community_id as ":source", parent_id as ":target"
        from graph_communities
        where parent_id is not null
        order by human_readable_id
    """,
    ("Report", "DESCRIBES", "Community"): """
        select report_id as ":source", report_id as ":target"
        from reports_community_reports
        order by human_readable_id
    """,
}


def own_graph(source: ExportSource) -> ExportGraph:
    """Return all kinds of nodes and edges of an index."""
    source.define("pg_nodes", "select name, entity_id as id from graph_entities")
    documents, units, claims = (Nodes(kind, source.rows(query)) for kind, query in _NODES.items())
    entities = Nodes("Entity", source.rows(_ENTITIES.format(more="", joined="")))
    stated = Edges(STATED, "Entity", "Entity", source.rows(_STATED))
    communities = community_graph(source)
    return ExportGraph(
        [documents, units, entities, claims, *communities.nodes],
        [stated, *edges_of(source, _EDGES), *communities.edges],
    )


def community_graph(source: ExportSource) -> ExportGraph:
    """Return the communities and reports of an index; ``pg_nodes`` says which node an entity's name is."""
    nodes = [Nodes(kind, source.rows(query)) for kind, query in _COMMUNITY_NODES.items()]
    return ExportGraph(nodes, edges_of(source, _COMMUNITY_EDGES))


def edges_of(source: ExportSource, queries: Mapping[tuple[str, str, str], str]) -> list[Edges]:
    """Return edges by their beginnings, kinds and ends."""
    return [Edges(kind, begins, ends, source.rows(query)) for (begins, kind, ends), query in queries.items()]


def own_network(source: ExportSource) -> tuple[Nodes, Edges]:
    """Return the entities, with their units and their community at each level, and what is stated of them."""
    ends = [source.value(f"select {end}(level) from graph_community_levels") for end in ("min", "max")]
    levels = range(0) if None in ends else range(ends[0], ends[1] + 1)
    names = [f"community_{level}" if level >= 0 else f"community_above_{-level}" for level in levels]
    columns = "".join(f", l.{name}" for name in names)
    found = ", ".join(
        f"max(c.human_readable_id) filter (m.level = {level}) as {name}"
        for level, name in zip(levels, names, strict=True)
    )
    joined = f"""
        left join (
            select m.entity_id, {found}
            from graph_community_levels as m
            inner join graph_communities as c on c.community_id = m.community_id
            group by m.entity_id
        ) as l on l.entity_id = e.entity_id
    """
    entities = _ENTITIES.format(more=f", e.text_unit_ids{columns}", joined=joined if levels else "")
    return (
        Nodes("Entity", source.rows(entities)),
        Edges(STATED, "Entity", "Entity", source.rows(_STATED)),
    )


def write_network(source: ExportSource, made: ExportWriter) -> list[str]:
    """Write the entities and what is stated of them as GraphML."""
    nodes, edges = imported_network(source) if adopted_tables(source).graph else own_network(source)
    path = "graph.graphml"
    counts = write_graphml(made.place(path), nodes, edges)
    made.note(path, sum(counts))
    return _omitted_rows(source)


def write_rdf(source: ExportSource, made: ExportWriter) -> list[str]:
    """Write everything as N-Triples; what came as RDF stands as it was in a file of its own."""
    told, corpus = source.snapshot.manifest, source.corpus
    about = {"corpus": corpus, "snapshot": source.snapshot.version, "package": str(told.get("package") or "")}
    run = str(told.get("run_id") or source.snapshot.version)
    path = "graph.nt"
    made.note(
        path,
        NTriples(ResourceIris(corpus), run, about).write(
            made.place(path), _graph(source, imported_resources)
        ),
    )
    write_statements(source, made)
    return _omitted_rows(source)


def write_neo4j(source: ExportSource, made: ExportWriter) -> list[str]:
    """Write everything as CSV files for Neo4j, with a script for its importer and one in Cypher."""
    graph = graph_of_nodes(source)
    kinds: list[Nodes | Edges] = [*graph.nodes, *graph.edges]
    for one in kinds:
        file = file_of(one)
        rows = write_csv(made.place(file.path).parent, one, made)
        made.note(file.path, rows)
    made.text("import.sh", import_command(graph, source.corpus))
    made.text("load.cypher", cypher(graph))
    return _omitted_rows(source)


def graph_of_nodes(source: ExportSource) -> ExportGraph:
    """Return a snapshot as Neo4j has it; ``pg_nodes`` says the id of the node that an entity's name is."""
    return _graph(source, imported_properties)


def _omitted_rows(source: ExportSource) -> list[str]:
    return repeated_rows(source) if adopted_tables(source).graph else []


def _graph(source: ExportSource, came: Callable[[ExportSource], tuple[Nodes, Edges]]) -> ExportGraph:
    kept = adopted_tables(source)
    if not kept.graph:
        return own_graph(source)
    return imported_graph(source, *came(source), communities=kept.communities, reports=kept.reports)


def _records(source: ExportSource, kind: str, table: str, *read: ImportedProperty) -> Nodes:
    rows = property_rows(source, table, *read)
    query = f"""
        select {_key(source, table)} as ":id", {rows.properties}
        from {rows.table} as b
        qualify row_number() over (partition by ":id" order by b.path, b."row") = 1
        order by b.path, b."row"
    """
    return Nodes(kind, source.rows(query))


def _key(source: ExportSource, table: str, key: str = "b.key") -> str:
    """Return the expression of an id; where several graphs have the same, with the graph before it."""
    shared = source.value(f"select 1 from {table} group by key having count(distinct graph) > 1 limit 1")
    return f"(b.graph || '/' || {key})" if shared else key


def imported_graph(
    source: ExportSource, entities: Nodes, stated: Edges, *, communities: bool, reports: bool
) -> ExportGraph:
    """Return all kinds of nodes and edges of what came.

    Args:
        source: the snapshot.
        entities: as they are written.
        stated: likewise, what is stated of them.
        communities: those that came are the corpus's; else it has its own.
        reports: likewise, where the communities are.
    """
    texts = [
        _records(source, "Document", "imports_documents", *properties_as_read("title", "text")),
        _records(source, "TextUnit", "imports_text_units", *properties_as_read("text")),
    ]
    about = ("type", "status", "description", "start_date", "end_date", "quote")
    claims = _records(source, "Claim", "imports_claims", *properties_as_read(*about))
    clustered = _communities(source, reports=reports) if communities else community_graph(source)
    return ExportGraph(
        [*texts, entities, claims, *clustered.nodes],
        [stated, *edges_of(source, _edges(source)), *clustered.edges],
    )


def repeated_rows(source: ExportSource) -> list[str]:
    """Return which rows are not written, a sentence for each table: of one thing, a node has the first."""
    records = ("documents", "text_units", "claims", "communities", "reports")
    keys = {"entities": "name", **dict.fromkeys(records, "(graph, key)")}
    found = {
        name: source.value(f"select count(*) - count(distinct {key}) from imports_{name}")
        for name, key in keys.items()
    }
    return [
        f"{plural(count, 'row')} of imports.{name} left out: of several rows of one, the first is written"
        for name, count in found.items()
        if count
    ]


def _edges(source: ExportSource) -> dict[tuple[str, str, str], str]:
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


def _communities(source: ExportSource, *, reports: bool) -> ExportGraph:
    one = _key(source, "imports_communities")
    level = ImportedProperty("level", "BIGINT", "b.level")
    nodes = [_records(source, "Community", "imports_communities", level, *properties_as_read("title"))]
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
        return ExportGraph(nodes, edges_of(source, edges))
    rating = ImportedProperty("rating", "DOUBLE", "b.rating")
    told = properties_as_read("title", "summary", "content", "rating_explanation", "findings")
    nodes.append(_records(source, "Report", "imports_reports", level, *told, rating))
    edges["Report", "DESCRIBES", "Community"] = f"""
        select
            {_key(source, "imports_reports")} as ":source",
            {_key(source, "imports_communities", "b.community_key")} as ":target"
        from imports_reports as b
        order by b.path, b."row"
    """
    return ExportGraph(nodes, edges_of(source, edges))
