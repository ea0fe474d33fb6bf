"""The entities of graphs from elsewhere and what is stated of them, as each form has them.

Nothing is made up: what reading filled in, such as the title of an entity that has only a key, is left out.
"""

from collections.abc import Sequence

from graphrag_dagster.apps.interchange.exporting.imported_properties import TEXTS, Property, property_rows
from graphrag_dagster.apps.interchange.exporting.source import Source
from graphrag_dagster.apps.interchange.exporting.statements import RDF_PATHS
from graphrag_dagster.apps.interchange.readers.rows import UNKNOWN_TYPE
from graphrag_dagster.apps.interchange.readers.tabular.columns import RELATION_NAMES
from graphrag_dagster.apps.interchange.writers.graph import STATED, Edges, Nodes
from graphrag_dagster.apps.interchange.writers.rows import Rows

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


def _weight(source: Source) -> Property:
    weighted = source.value("select 1 from imports_relations where weight <> 1 limit 1")
    return Property("weight", "DOUBLE", "b.weight" if weighted else "null::double")


def _stated(
    source: Source, key: str, *read: Property, table: str = _RELATIONS, also: str = _RELATION
) -> Rows:
    rows = property_rows(source, table, *read, _DESCRIPTION, _weight(source), _UNITS)
    return source.rows(
        f"""
        select {key} as ":id", h.id as ":source", t.id as ":target", {also} {rows.properties}
        from {rows.table} as b
        inner join pg_nodes as h on h.name = b.head
        inner join pg_nodes as t on t.name = b.tail
        order by b.path, b."row"
        """
    )


def _shared_keys(source: Source) -> bool:
    return not source.value("select count(key) = count(distinct key) from imports_relations")


def _relation_key(source: Source) -> str:
    place = """b.path || '#' || b."row\""""
    if not _shared_keys(source):
        return f"coalesce(b.key, {place})"
    return f"case when b.key is null or {_SHARED} then {place} else b.key end"


def imported_network(source: Source) -> tuple[Nodes, Edges]:
    """Return the entities that came, and what is stated of them, as GraphML has them."""
    source.keep("pg_nodes", _NAMED)
    said = [Property("label", "VARCHAR", "nullif(b.label, '')", RELATION_NAMES)]
    key = "b.key"
    # Ids are unique in GraphML; those that several have are told as an attribute.
    if _shared_keys(source):
        key = f"case when not ({_SHARED}) then b.key end"
        said.append(Property("id", "VARCHAR", f"case when {_SHARED} then b.key end"))
    undirected = source.value(
        "select bool_and(coalesce(attributes ->> 'directed' = 'false', false)) from imports_relations"
    )
    entities = _entities(source, _TITLE, _TYPE, _DESCRIPTION, _UNITS)
    rows = _stated(source, key, *said, also="")
    return entities, Edges(STATED, "Entity", "Entity", rows, directed=not undirected)


def imported_resources(source: Source) -> tuple[Nodes, Edges]:
    """Return the same as RDF has them."""
    source.keep("pg_nodes", _NAMED)
    same = f"""
        case when n.graph in ({RDF_PATHS}) and not starts_with(n.key, '_:') then n.key end as ":same",
    """
    label = Property("label", "VARCHAR", "nullif(b.label, '')")
    declared, stated = (_BUT_RDF.format(table=one) for one in (_ENTITIES, _RELATIONS))
    entities = _entities(source, _TITLE, _TYPE, _DESCRIPTION, table=declared, also=same)
    rows = _stated(source, _relation_key(source), label, table=stated)
    return entities, Edges(STATED, "Entity", "Entity", rows)


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
    rows = _stated(source, _relation_key(source), *key)
    return entities, Edges(STATED, "Entity", "Entity", rows, named=False)


def imported_lists(source: Source) -> tuple[Rows, Rows | None]:
    """Return what is stated row by row, and the rows of entities where any came."""
    source.keep("pg_nodes", _NAMED)
    ends = [Property("head", "VARCHAR", "h.id"), Property("tail", "VARCHAR", "t.id")]
    label, key = Property("relation", "VARCHAR", "nullif(b.label, '')"), Property("id", "VARCHAR", "b.key")
    read = [ends[0], label, ends[1], _weight(source), _DESCRIPTION, key, _UNITS]
    rows = property_rows(source, _RELATIONS, *read, apart=True)
    stated = source.rows(
        f"""
        select {rows.properties}
        from {rows.table} as b
        inner join pg_nodes as h on h.name = b.head
        inner join pg_nodes as t on t.name = b.tail
        order by b.path, b."row"
        """
    )
    if not source.count(_ENTITIES):
        return stated, None
    read = [Property("id", "VARCHAR", "n.id"), _TITLE, _TYPE, _DESCRIPTION, _UNITS]
    rows = property_rows(source, _ENTITIES, *read, apart=True)
    entities = source.rows(
        f"""
        select {rows.properties}
        from {rows.table} as b
        inner join pg_nodes as n on n.name = b.name
        order by b.path, b."row"
        """
    )
    return stated, entities
