"""Imported graphs of a corpus as the views that Microsoft GraphRAG's tables are made of.

The rows are written as they came: what a row has under ``attributes`` by the name of a column is the value
of that column, null included; all else is what it was read as.
"""

from graphrag_dagster.apps.interchange.exporting import index_tables as own_tables
from graphrag_dagster.apps.interchange.exporting.export_source import ExportSource
from graphrag_dagster.apps.interchange.exporting.microsoft_tables import given

_PLACE = "row_number() over (order by b.path, b.row) - 1 as n"
_NUMBER = "row_number() over (order by b.path, b.row) - 1"


def _number_of(source: ExportSource, table: str) -> str:
    """Return the expression of ``human_readable_id``: as it came, unless that would not be unique."""
    told = source.value(
        "select count(*) = count(distinct attributes ->> 'human_readable_id') "
        f"from {table} where json_exists(attributes, '$.human_readable_id')"
    )
    return (
        given("human_readable_id", _NUMBER, "bigint") if told else f"({_NUMBER})::bigint as human_readable_id"
    )


def _documents(source: ExportSource) -> str:
    return f"""
        select
            {_PLACE}, {given("id", "b.key")}, {_number_of(source, "imports_documents")}, b.title, b.text,
            null::varchar as creation_date, b.attributes
        from imports_documents as b
    """


def _text_units(source: ExportSource) -> str:
    return f"""
        select
            {_PLACE}, {given("id", "b.key")}, {_number_of(source, "imports_text_units")}, b.text,
            {given("n_tokens", "c.tokens", "bigint")},
            {given("document_id", "b.document_keys[1]")}, b.attributes
        from imports_text_units as b
        left join (select text, min(tokens) as tokens from corpus_text_chunks group by text) as c
            on c.text = b.text
    """


def _entities(source: ExportSource) -> str:
    return f"""
        select
            {_PLACE}, b.graph, b.key, {given("id", "b.key")}, {_number_of(source, "imports_entities")},
            b.name,
            b.title, {given("type", "b.type")}, {given("description", "b.description")},
            b.text_unit_keys as text_unit_ids, len(b.text_unit_keys)::bigint as frequency,
            coalesce(e.degree, 0)::bigint as degree, b.attributes
        from imports_entities as b
        left join graph_entities as e on e.name = b.name
    """


def _relationships(source: ExportSource) -> str:
    return f"""
        select
            {_PLACE}, {given("id", "coalesce(b.key, b.path || '#' || b.row)")},
            {_number_of(source, "imports_relations")},
            {given("source", "coalesce(h.title, b.head_key)")},
            {given("target", "coalesce(t.title, b.tail_key)")},
            {given("description", "coalesce(nullif(b.description, ''), b.label)")},
            {given("weight", "b.weight", "double")},
            (coalesce(h.degree, 0) + coalesce(t.degree, 0))::bigint as combined_degree,
            b.text_unit_keys as text_unit_ids, b.attributes
        from imports_relations as b
        left join ms_declared as h on h.graph = b.graph and h.key = b.head_key
        left join ms_declared as t on t.graph = b.graph and t.key = b.tail_key
    """


def _covariates(source: ExportSource) -> str:
    as_read = ("type", "description", "status", "start_date", "end_date")
    return f"""
        select
            {_PLACE}, {given("id", "b.key")}, {_number_of(source, "imports_claims")},
            {given("covariate_type", "'claim'")},
            {", ".join(given(name, f"b.{name}") for name in as_read)},
            {given("subject_id", "coalesce(s.title, b.subject)")},
            {given("object_id", "coalesce(o.title, b.object)")},
            {given("source_text", "b.quote")}, {given("text_unit_id", "b.text_unit_key")}, b.attributes
        from imports_claims as b
        left join ms_named as s on s.name = b.subject
        left join ms_named as o on o.name = b.object
    """


def _communities(source: ExportSource) -> str:
    as_given = "coalesce(try_cast(b.attributes ->> 'community' as bigint), try_cast(b.key as bigint))"
    unique = source.value(f"select count(*) = count(distinct {as_given}) from imports_communities as b")
    number = as_given if unique else f"({_NUMBER})"
    # In several graphs, numbers of one name communities of another.
    attributes = "b.attributes" if unique else "'{}'::varchar"
    title = "b.title" if unique else "b.title || ' (' || b.graph || ')'"
    return f"""
        with numbered as (
            select {_PLACE}, b.*, ({number})::bigint as community, {_number_of(source, "imports_communities")}
            from imports_communities as b
        )
        select
            b.n, b.graph, b.key, {given("id", "b.key")}, b.human_readable_id, b.community,
            b.level::bigint as level, coalesce(p.community, -1) as parent, {title} as title,
            {own_tables.PERIOD} as period, {attributes} as attributes
        from numbered as b
        left join numbered as p on p.graph = b.graph and p.key = b.parent_key
    """


_MEMBERS = """
select c.community, e.id as entity_id, c.position
from (
    select
        m.community, b.graph, unnest(b.entity_keys) as key, generate_subscripts(b.entity_keys, 1) as position
    from imports_communities as b
    inner join ms_communities as m on m.graph = b.graph and m.key = b.key
) as c
inner join ms_declared as e on e.graph = c.graph and e.key = c.key
"""


def _reports(source: ExportSource) -> str:
    shape = """'[{"explanation": "VARCHAR", "summary": "VARCHAR"}]'"""
    return f"""
        select
            {_PLACE}, {given("id", "b.key")}, {_number_of(source, "imports_reports")}, c.community, b.title,
            b.summary, b.content as full_content, {given("rank", "b.rating", "double")},
            {given("rating_explanation", "b.rating_explanation")}, from_json(b.findings, {shape}) as findings,
            b.attributes
        from imports_reports as b
        left join ms_communities as c on c.graph = b.graph and c.key = b.community_key
    """


#: Reports written anew of kept communities: these have other ids, but the same level and members.
_REPORTS_ANEW = """
with ours as (
    select m.community_id, any_value(m.level) as level, list(distinct e.name order by e.name) as names
    from graph_community_members as m
    inner join graph_entities as e on e.entity_id = m.entity_id
    group by m.community_id
),
theirs as (
    select c.community, any_value(c.level) as level, list(distinct e.name order by e.name) as names
    from ms_communities as c
    inner join ms_members as m on m.community = c.community
    inner join ms_entities as e on e.id = m.entity_id
    group by c.community
),
matched as (
    select o.community_id, min(t.community) as community
    from ours as o
    inner join theirs as t on t.level = o.level and t.names = o.names
    group by o.community_id
)
select r.* replace (m.community as community)
from ({ours}) as r
inner join matched as m on m.community_id = r.id
"""


def define_records(source: ExportSource) -> None:
    """Name what came of documents, text units, entities, relations and claims."""
    source.define("ms_documents", _documents(source))
    source.define("ms_text_units", _text_units(source))
    source.define("ms_entities", _entities(source))
    # A relation names an entity by its key; of several rows of one, the first counts.
    source.keep(
        "ms_declared",
        "select graph, key, arg_min(id, n) as id, arg_min(title, n) as title, arg_min(degree, n) as degree "
        "from ms_entities group by graph, key",
    )
    source.keep("ms_named", "select name, arg_min(title, n) as title from ms_entities group by name")
    source.define("ms_relationships", _relationships(source))
    source.define("ms_covariates", _covariates(source))


def define_communities(source: ExportSource) -> None:
    """Name the communities that came; entities are named by then."""
    source.define("ms_communities", _communities(source))
    source.keep("ms_members", _MEMBERS)


def define_reports(source: ExportSource, *, kept: bool) -> None:
    """Name the reports of the communities that came: those that came with them, or those written anew."""
    own_tables.define_reports(source)
    if kept:
        source.define("ms_reports", _reports(source))
    else:
        source.define("ms_reports", _REPORTS_ANEW.format(ours=own_tables.REPORTS))
