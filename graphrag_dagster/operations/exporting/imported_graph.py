"""What came of graphs from elsewhere, as a graph: what was said of each node and edge, under its own name.

Nothing is made up: what reading filled in, such as the title of an entity that has only a key, is left out.
"""

from collections.abc import Sequence

from graphrag_dagster.core.corpus.graphs.columns import RELATION_NAMES
from graphrag_dagster.core.corpus.graphs.rows import UNKNOWN_TYPE
from graphrag_dagster.core.exporting.graph import STATED, Edges, Graph, Nodes
from graphrag_dagster.core.wording import counted
from graphrag_dagster.operations.exporting.imported_properties import TEXTS, Property, as_read, property_rows
from graphrag_dagster.operations.exporting.own_graph import community_graph, edges_of
from graphrag_dagster.operations.exporting.source import Source
from graphrag_dagster.operations.exporting.statements import RDF_PATHS

_ENTITIES, _RELATIONS = "imports_entities", "imports_relations"
#: What was said as RDF is written as it was: it is no property.
_BUT_RDF = f"""(
    select * replace (case when path in ({RDF_PATHS}) then '{{{{}}}}' else attributes end as attributes)
    from {{table}}
)"""
_UNITS = Property("text_unit_ids", TEXTS, "case when len(b.text_unit_keys) > 0 then b.text_unit_keys end")
_DESCRIPTION = Property("description", "VARCHAR", "nullif(b.description, '')")
_TITLE = Property(
    "title", "VARCHAR", "case when n.declared then nullif(b.title, b.key) else nullif(n.name, n.key) end"
)
_TYPE = Property("type", "VARCHAR", f"nullif(b.type, '{UNKNOWN_TYPE}')")
_RELATION = """coalesce(nullif(b.label, ''), b.relation) as ":relation","""
#: Whether relations have the same key.
_SHARED = "count(*) over (partition by b.key) > 1 and b.key is not null"
_DECLARED = Property("declared", "BOOLEAN", "case when not n.declared then false end")

#: A node for each name: the key that it has where it is first declared, else where it is first named.
_NAMED = """
with declared as (
    select name, arg_min(key, (path, "row")) as key, arg_min(graph, (path, "row")) as graph, true as declared
    from imports_entities
    group by name
),
ends as (
    select name, arg_min(key, (path, "row")) as key, arg_min(graph, (path, "row")) as graph, false as declared
    from (
        select path, "row", head as name, head_key as key, graph from imports_relations
        union all by name
        select path, "row", tail as name, tail_key as key, graph from imports_relations
    )
    where name not in (select name from declared)
    group by name
)
select
    name, key, graph, declared,
    case when count(*) over (partition by key) = 1 then key else graph || '/' || key end as id
from (select * from declared union all by name select * from ends)
"""


def _entities(
    source: Source, *read: Property, table: str = _ENTITIES, also: str = "", without: Sequence[str] = ()
) -> Nodes:
    rows = property_rows(source, table, _DECLARED, *read, without=without)
    # What only relations name has nothing but its name.
    query = f"""
        select n.id as ":id", {also} {rows.properties}
        from pg_nodes as n
        left join (
            select * from {rows.table}
            qualify row_number() over (partition by name order by path, "row") = 1
        ) as b on b.name = n.name
        order by n.declared desc, b.path, b."row", n.id
    """
    return Nodes("Entity", source.rows(query))


def _stated(
    source: Source,
    key: str,
    *read: Property,
    table: str = _RELATIONS,
    relation: bool = True,
    named: bool = True,
    directed: bool = True,
) -> Edges:
    weighted = source.value("select 1 from imports_relations where weight <> 1 limit 1")
    weight = Property("weight", "DOUBLE", "b.weight" if weighted else "null::double")
    rows = property_rows(source, table, *read, _DESCRIPTION, weight, _UNITS)
    query = f"""
        select
            {key} as ":id", h.id as ":source", t.id as ":target", {_RELATION if relation else ""}
            {rows.properties}
        from {rows.table} as b
        inner join pg_nodes as h on h.name = b.head
        inner join pg_nodes as t on t.name = b.tail
        order by b.path, b."row"
    """
    return Edges(STATED, "Entity", "Entity", source.rows(query), named, directed)


def _shared_keys(source: Source) -> bool:
    return not source.value("select count(key) = count(distinct key) from imports_relations")


def _relation_key(source: Source) -> str:
    place = """b.path || '#' || b."row\""""
    if not _shared_keys(source):
        return f"coalesce(b.key, {place})"
    return f"case when b.key is null or {_SHARED} then {place} else b.key end"


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


def imported_network(source: Source) -> tuple[Nodes, Edges]:
    """Return the entities that came, and what is stated of them, as GraphML has them."""
    source.keep("pg_nodes", _NAMED)
    said = [Property("label", "VARCHAR", "nullif(b.label, '')", RELATION_NAMES)]
    key = "b.key"
    # Ids are unique in GraphML; those that several have are told as an attribute.
    if _shared_keys(source):
        key = f"case when not ({_SHARED}) then b.key end"
        said.append(Property("key", "VARCHAR", f"case when {_SHARED} then b.key end"))
    undirected = source.value(
        "select bool_and(coalesce(attributes ->> 'directed' = 'false', false)) from imports_relations"
    )
    entities = _entities(source, _TITLE, _TYPE, _DESCRIPTION, _UNITS)
    return entities, _stated(source, key, *said, relation=False, directed=not undirected)


def imported_resources(source: Source) -> tuple[Nodes, Edges]:
    """Return the same as RDF has them."""
    source.keep("pg_nodes", _NAMED)
    same = f"""
        case when n.graph in ({RDF_PATHS}) and not starts_with(n.key, '_:') then n.key end as ":same",
    """
    label = Property("label", "VARCHAR", "nullif(b.label, '')")
    declared, stated = (_BUT_RDF.format(table=one) for one in (_ENTITIES, _RELATIONS))
    entities = _entities(source, _TITLE, _TYPE, _DESCRIPTION, table=declared, also=same)
    return entities, _stated(source, _relation_key(source), label, table=stated)


def imported_properties(source: Source) -> tuple[Nodes, Edges]:
    """Return the same as Neo4j has them: types of entities are labels, and those of relations are types."""
    source.keep("pg_nodes", _NAMED)
    labels = f"""
        case
            when json_type(b.attributes, '$.labels') = 'ARRAY'
                then from_json(json_extract(b.attributes, '$.labels'), '["VARCHAR"]')
            else [nullif(b.type, '{UNKNOWN_TYPE}')]
        end as ":labels",
    """
    named = source.value("select count(key) > 0 from imports_relations")
    key = [Property("id", "VARCHAR", "b.key")] if named else []
    entities = _entities(source, _TITLE, _DESCRIPTION, also=labels, without=["labels"])
    return entities, _stated(source, _relation_key(source), *key, named=False)


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
