"""An index of documents as a graph of all that it has."""

from collections.abc import Mapping

from graphrag_dagster.apps.interchange.exporting.source import Source
from graphrag_dagster.apps.interchange.writers.graph import STATED, Edges, Graph, Nodes

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


def _in_units(table: str, key: str) -> str:
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


def _about(end: str) -> str:
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
    ("Entity", "MENTIONED_IN", "TextUnit"): _in_units("graph_entities", "entity_id"),
    ("Claim", "SUBJECT", "Entity"): _about("subject"),
    ("Claim", "OBJECT", "Entity"): _about("object"),
    ("Claim", "STATED_IN", "TextUnit"): _in_units("graph_claims", "claim_id"),
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


def own_graph(source: Source) -> Graph:
    """Return all kinds of nodes and edges of an index."""
    source.define("pg_nodes", "select name, entity_id as id from graph_entities")
    documents, units, claims = (Nodes(kind, source.rows(query)) for kind, query in _NODES.items())
    entities = Nodes("Entity", source.rows(_ENTITIES.format(more="", joined="")))
    stated = Edges(STATED, "Entity", "Entity", source.rows(_STATED))
    communities = community_graph(source)
    return Graph(
        [documents, units, entities, claims, *communities.nodes],
        [stated, *edges_of(source, _EDGES), *communities.edges],
    )


def community_graph(source: Source) -> Graph:
    """Return the communities and reports of an index; ``pg_nodes`` says which node an entity's name is."""
    nodes = [Nodes(kind, source.rows(query)) for kind, query in _COMMUNITY_NODES.items()]
    return Graph(nodes, edges_of(source, _COMMUNITY_EDGES))


def edges_of(source: Source, queries: Mapping[tuple[str, str, str], str]) -> list[Edges]:
    """Return edges by their beginnings, kinds and ends."""
    return [Edges(kind, begins, ends, source.rows(query)) for (begins, kind, ends), query in queries.items()]


def own_network(source: Source) -> tuple[Nodes, Edges]:
    """Return the entities, with their units and their community at each level, and what is stated of them."""
    deepest = source.value("select max(level) from graph_community_levels")
    levels = range(0 if deepest is None else deepest + 1)
    columns = "".join(f", l.community_{level}" for level in levels)
    found = ", ".join(
        f"max(c.human_readable_id) filter (m.level = {level}) as community_{level}" for level in levels
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
