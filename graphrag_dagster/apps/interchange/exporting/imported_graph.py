"""Entities of imported graphs and what is stated of them, with properties as each format has them.

Nothing is made up: what reading filled in, such as the title of an entity that has only a key, is left out.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from graphrag_dagster.apps.interchange.exporting.export_folder import ExportWriter
from graphrag_dagster.apps.interchange.exporting.export_rows import RESERVED, STATED, Edges, Nodes, RowBatches
from graphrag_dagster.apps.interchange.exporting.export_source import ExportSource
from graphrag_dagster.apps.interchange.exporting.microsoft_tables import NULLS
from graphrag_dagster.apps.interchange.exporting.ntriples_writer import write_lines
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import RELATION_NAMES
from graphrag_dagster.apps.interchange.graph_rows.table_rows import UNKNOWN_TYPE
from graphrag_dagster.apps.interchange.readers.graph_formats import RDF_FORMATS
from graphrag_dagster.kernel.common.printable import make_unique

#: Query of the files of RDF; each is a graph of its own.
RDF_PATHS = f"select path from imports_files where format in {RDF_FORMATS}"
_PATH = "statements.nt"

#: Blank nodes of several files that share a name are not the same.
_STATEMENTS = f"""
with files as (
    select
        path, case when count(*) over () > 1 then 'g' || row_number() over (order by path) || '_' else '' end
            as prefix
    from ({RDF_PATHS})
),

said as (
    select
        path, "row", 0 as position, 0 as place, head_key as subject, attributes ->> 'predicate' as predicate,
        tail_key as object, null as value, null as language, null as datatype
    from imports_relations
    union all
    select
        b.path, b."row", p.id, v.id, b.key, p.key, v.value ->> 'iri', v.value ->> 'value',
        v.value ->> 'language', v.value ->> 'datatype'
    from imports_entities as b, json_each(b.attributes::json) as p, json_each(p.value) as v
    where b.path in ({RDF_PATHS})
)

select
    case when starts_with(s.subject, '_:') then '_:' || f.prefix || substr(s.subject, 3) else s.subject end
        as subject,
    s.predicate,
    case when starts_with(s.object, '_:') then '_:' || f.prefix || substr(s.object, 3) else s.object end
        as object,
    s.value, s.language, s.datatype
from said as s
inner join files as f on f.path = s.path
order by s.path, s."row", s.position, s.place
"""


def write_statements(source: ExportSource, made: ExportWriter) -> None:
    """Write the statements of RDF that came as N-Triples, where any did."""
    if source.value(RDF_PATHS) is not None:
        made.note(_PATH, write_lines(made.place(_PATH), source.rows(_STATEMENTS)))


#: More names of attributes than these are written as one property, as JSON.
MOST_ATTRIBUTES = 300
_WHOLE, _QUOTE = "attributes", '"'
#: Types of a list of texts, and of one of nothing.
TEXTS, _EMPTY = "VARCHAR[]", "[]"
_WHOLE_NUMBERS = "case when try_cast(a.value as bigint[]) is not null then 'BIGINT[]' end"


@dataclass(frozen=True)
class ImportedProperty:
    """A column of properties.

    Attributes:
        name: of it, which may hold anything.
        type: of its values.
        read: expression of what is read under this name; blank where nothing is.
        names: where a row says something else by one of these, the property is called by the first of them
            that is free, so that it is found again before the others.
    """

    name: str
    type: str
    read: str = ""
    names: Sequence[str] = ()

    def among(self, said: Iterable[str]) -> "ImportedProperty":
        """Return the property with the name that it has beside those that rows say something by."""
        taken = {one.casefold() for one in said}
        if taken.isdisjoint(self.names):
            return self
        return replace(self, name=next((one for one in self.names if one not in taken), self.name))

    def value(self, said: list[str]) -> str:
        """Return the expression of its values; a row's own value of that name comes first.

        Args:
            said: names of what the rows say besides, in the order of the list ``:said``.
        """
        if self.name not in said:
            value = self.read
        else:
            own = _nth(said, self.name)
            value = f"json_extract_string({own}, '$')"
            if self.type.endswith("[]"):
                value = f"from_json({own}, '[\"{self.type.removesuffix('[]')}\"]')"
            elif self.type != "VARCHAR":
                value = f"try_cast({value} as {self.type})"
            if self.read:
                value = f"case when {own} is null then {self.read} else {value} end"
        if self.read and NULLS in said:
            nothing = f"json_contains({_nth(said, NULLS)}, '{json.dumps(self.name)}')"
            value = f"case when coalesce({nothing}, false) then null else {value} end"
        return value


def _quote(name: str) -> str:
    return f'"{name.replace(_QUOTE, _QUOTE * 2)}"'


def _nth(said: list[str], name: str) -> str:
    return f'b.":said"[{said.index(name) + 1}]'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _attributes(source: ExportSource, table: str) -> dict[str, str] | None:
    """Return name → type of what rows say besides, the first of it first; None where it is too much."""
    rows = source.connection.execute(
        f"""
        select
            a.key,
            list(distinct case
                when a.type = 'UBIGINT' and try_cast(a.value::varchar as bigint) is null then 'VARCHAR'
                when a.type = 'UBIGINT' then 'BIGINT'
                when a.type <> 'ARRAY' then a.type
                else coalesce(case json_structure(a.value)::varchar
                    when '["VARCHAR"]' then '{TEXTS}'
                    when '["NULL"]' then '{_EMPTY}'
                    when '["DOUBLE"]' then 'DOUBLE[]'
                    when '["BOOLEAN"]' then 'BOOLEAN[]'
                    when '["BIGINT"]' then 'BIGINT[]'
                    -- Of numbers that are not negative, or of both signs.
                    when '["UBIGINT"]' then {_WHOLE_NUMBERS}
                    when '["HUGEINT"]' then {_WHOLE_NUMBERS}
                end, 'VARCHAR')
            end) filter (a.type <> 'NULL') as types
        from {table} as b, json_each(b.attributes::json) as a
        group by a.key
        order by min({{'path': b.path, 'row': b."row", 'place': a.id}})
        limit {MOST_ATTRIBUTES + 1}
        """
    ).fetchall()
    return {name: _type(set(types or ())) for name, types in rows} if len(rows) <= MOST_ATTRIBUTES else None


def _type(types: set[str]) -> str:
    if _EMPTY in types:
        types = types - {_EMPTY} or {TEXTS}
    if types == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    one = types.pop() if len(types) == 1 else ""
    return one if one.removesuffix("[]") in {"BIGINT", "DOUBLE", "BOOLEAN"} or one == TEXTS else "VARCHAR"


@dataclass(frozen=True)
class PropertyRows:
    """The rows of a table, called ``b``, and the columns of their properties.

    Attributes:
        table: as it is read: what its rows say besides is taken apart once, into the list ``:said``.
        properties: what it is read as, and what it says besides.
    """

    table: str
    properties: str


def property_rows(
    source: ExportSource,
    table: str,
    *read: ImportedProperty,
    without: Sequence[str] = (),
    apart: bool = False,
) -> PropertyRows:
    """Return the rows of a table with what they are read as and what they say besides.

    Args:
        source: has the table.
        table: its view.
        read: what its rows are read as.
        without: names of lists of texts that are told elsewhere.
        apart: what rows say by the name of something that they are read as is told beside it, renamed.
    """
    said = _attributes(source, table)
    if said is None:
        columns = [*(f"{one.value([])} as {_quote(one.name)}" for one in read), f"b.{_WHOLE}"]
        return PropertyRows(table, ", ".join(columns))
    names = list(said)
    read = tuple(one.among(names) for one in read)
    left_out = {NULLS, *(() if apart else (one.name for one in read))}
    left_out.update(name for name in without if said.get(name) == TEXTS)
    others = [ImportedProperty(name, type_) for name, type_ in said.items() if name not in left_out]
    values = [*(one.value([] if apart else names) for one in read), *(one.value(names) for one in others)]
    called = make_unique([*RESERVED, *(one.name for one in (*read, *others))])[len(RESERVED) :]
    told = ", ".join(f"{value} as {_quote(name)}" for value, name in zip(values, called, strict=True))
    places = ", ".join(_text("/" + name.replace("~", "~0").replace("/", "~1")) for name in names)
    taken = f'(select *, json_extract(attributes, [{places}]) as ":said" from {table})' if names else table
    return PropertyRows(taken, told)


def properties_as_read(*names: str) -> list[ImportedProperty]:
    """Return columns of text that are properties as they are."""
    return [ImportedProperty(name, "VARCHAR", f"b.{name}") for name in names]


_ENTITIES, _RELATIONS = "imports_entities", "imports_relations"
#: What was said as RDF is written as it was: it is no property.
_BUT_RDF = f"""(
    select * replace (case when path in ({RDF_PATHS}) then '{{{{}}}}' else attributes end as attributes)
    from {{table}}
)"""
_UNITS = ImportedProperty(
    "text_unit_ids", TEXTS, "case when len(b.text_unit_keys) > 0 then b.text_unit_keys end"
)
_DESCRIPTION = ImportedProperty("description", "VARCHAR", "nullif(b.description, '')")
_TITLE = ImportedProperty(
    "title", "VARCHAR", "case when n.declared then nullif(b.title, b.key) else nullif(n.name, n.key) end"
)
_TYPE = ImportedProperty("type", "VARCHAR", f"nullif(b.type, '{UNKNOWN_TYPE}')")
_RELATION = """coalesce(nullif(b.label, ''), b.relation) as ":relation","""
#: Whether relations have the same key.
_SHARED = "count(*) over (partition by b.key) > 1 and b.key is not null"
_DECLARED = ImportedProperty("declared", "BOOLEAN", "case when not n.declared then false end")

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
    source: ExportSource,
    *read: ImportedProperty,
    table: str = _ENTITIES,
    also: str = "",
    without: Sequence[str] = (),
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


def _weight(source: ExportSource) -> ImportedProperty:
    weighted = source.value("select 1 from imports_relations where weight <> 1 limit 1")
    return ImportedProperty("weight", "DOUBLE", "b.weight" if weighted else "null::double")


def _statement_rows(
    source: ExportSource, key: str, *read: ImportedProperty, table: str = _RELATIONS, also: str = _RELATION
) -> RowBatches:
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


def _shared_keys(source: ExportSource) -> bool:
    return not source.value("select count(key) = count(distinct key) from imports_relations")


def _relation_key(source: ExportSource) -> str:
    place = """b.path || '#' || b."row\""""
    if not _shared_keys(source):
        return f"coalesce(b.key, {place})"
    return f"case when b.key is null or {_SHARED} then {place} else b.key end"


def imported_network(source: ExportSource) -> tuple[Nodes, Edges]:
    """Return the entities that came, and what is stated of them, as GraphML has them."""
    source.keep("pg_nodes", _NAMED)
    said = [ImportedProperty("label", "VARCHAR", "nullif(b.label, '')", RELATION_NAMES)]
    key = "b.key"
    # Ids are unique in GraphML; those that several have are told as an attribute.
    if _shared_keys(source):
        key = f"case when not ({_SHARED}) then b.key end"
        said.append(ImportedProperty("id", "VARCHAR", f"case when {_SHARED} then b.key end"))
    undirected = source.value(
        "select bool_and(coalesce(attributes ->> 'directed' = 'false', false)) from imports_relations"
    )
    entities = _entities(source, _TITLE, _TYPE, _DESCRIPTION, _UNITS)
    rows = _statement_rows(source, key, *said, also="")
    return entities, Edges(STATED, "Entity", "Entity", rows, directed=not undirected)


def imported_resources(source: ExportSource) -> tuple[Nodes, Edges]:
    """Return the same as RDF has them."""
    source.keep("pg_nodes", _NAMED)
    same = f"""
        case when n.graph in ({RDF_PATHS}) and not starts_with(n.key, '_:') then n.key end as ":same",
    """
    label = ImportedProperty("label", "VARCHAR", "nullif(b.label, '')")
    declared, stated = (_BUT_RDF.format(table=one) for one in (_ENTITIES, _RELATIONS))
    entities = _entities(source, _TITLE, _TYPE, _DESCRIPTION, table=declared, also=same)
    rows = _statement_rows(source, _relation_key(source), label, table=stated)
    return entities, Edges(STATED, "Entity", "Entity", rows)


def imported_properties(source: ExportSource) -> tuple[Nodes, Edges]:
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
    key = [ImportedProperty("id", "VARCHAR", "b.key")] if named else []
    entities = _entities(source, _TITLE, _DESCRIPTION, also=labels, without=["labels"])
    rows = _statement_rows(source, _relation_key(source), *key)
    return entities, Edges(STATED, "Entity", "Entity", rows, named=False)


def imported_lists(source: ExportSource) -> tuple[RowBatches, RowBatches | None]:
    """Return what is stated row by row, and the rows of entities where any came."""
    source.keep("pg_nodes", _NAMED)
    ends = [ImportedProperty("head", "VARCHAR", "h.id"), ImportedProperty("tail", "VARCHAR", "t.id")]
    label, key = (
        ImportedProperty("relation", "VARCHAR", "nullif(b.label, '')"),
        ImportedProperty("id", "VARCHAR", "b.key"),
    )
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
    read = [ImportedProperty("id", "VARCHAR", "n.id"), _TITLE, _TYPE, _DESCRIPTION, _UNITS]
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
