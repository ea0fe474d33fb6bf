"""The tables of Microsoft GraphRAG, as queries over views of the records of a corpus.

What the views have under ``attributes`` is written as it is; all else is counted from the records.
"""

#: Attribute in which reading says where nothing stood.
NULLS = "nulls"
_NAMES = """'["VARCHAR"]'"""
_NUMBERS = """'["BIGINT"]'"""


def was_null(name: str) -> str:
    """Return an expression: whether nothing stood under a name, which reading has filled.

    Args:
        name: as it stands in SQL, between single quotes.
    """
    return f"""coalesce(json_contains(b.attributes -> '{NULLS}', '"{name}"'), false)"""


def given(name: str, otherwise: str, type_: str = "varchar") -> str:
    """Return an expression: the attribute of that name where there is one, null included, else another."""
    return _given_expression(name, f"(b.attributes ->> '{name}')::{type_}", otherwise)


def given_list(name: str, otherwise: str, shape: str = _NAMES) -> str:
    """Return the same for a list."""
    return _given_expression(name, f"from_json(b.attributes -> '{name}', {shape})", otherwise)


def _given_expression(name: str, value: str, otherwise: str) -> str:
    return (
        f"case when {was_null(name)} then null when json_exists(b.attributes, '$.{name}') then {value} "
        f"else {otherwise} end as {name}"
    )


_DOCUMENTS = f"""
select
    b.id, b.human_readable_id, b.title, b.text,
    {given_list("text_unit_ids", "coalesce(u.ids, [])")},
    {given("creation_date", "b.creation_date")}, null as raw_data
from ms_documents as b
left join (select document_id, list(id order by n) as ids from ms_text_units group by document_id) as u
    on u.document_id = b.id
order by b.n
"""

_TEXT_UNITS = f"""
with entities as (
    select unit, list(id order by n) as ids
    from (select unnest(text_unit_ids) as unit, id, n from ms_entities)
    group by unit
),
relationships as (
    select unit, list(id order by n) as ids
    from (select unnest(text_unit_ids) as unit, id, n from ms_relationships)
    group by unit
),
covariates as (
    select text_unit_id as unit, list(id order by n) as ids from ms_covariates group by text_unit_id
)
select
    b.id, b.human_readable_id, b.text, b.n_tokens, b.document_id,
    {given_list("entity_ids", "coalesce(e.ids, [])")},
    {given_list("relationship_ids", "coalesce(r.ids, [])")},
    {given_list("covariate_ids", "coalesce(c.ids, [])")}
from ms_text_units as b
left join entities as e on e.unit = b.id
left join relationships as r on r.unit = b.id
left join covariates as c on c.unit = b.id
order by b.n
"""

_ENTITIES = f"""
select
    b.id, b.human_readable_id, b.title, b.type, b.description, b.text_unit_ids,
    {given("frequency", "b.frequency", "bigint")}, {given("degree", "b.degree", "bigint")}
from ms_entities as b
order by b.n
"""

_RELATIONSHIPS = f"""
select
    b.id, b.human_readable_id, b.source, b.target, b.description, b.weight,
    {given("combined_degree", "b.combined_degree", "bigint")}, b.text_unit_ids
from ms_relationships as b
order by b.n
"""

_COVARIATES = """
select
    id, human_readable_id, covariate_type, type, description, subject_id, object_id, status, start_date,
    end_date, source_text, text_unit_id
from ms_covariates
order by n
"""

_COMMUNITIES = f"""
with inside as (
    select m.community, r.id, r.n, r.text_unit_ids
    from ms_relationships as r
    inner join ms_entities as s on s.title = r.source
    inner join ms_entities as t on t.title = r.target
    inner join ms_members as m on m.entity_id = s.id
    inner join ms_members as o on o.entity_id = t.id and o.community = m.community
),
relationships as (
    select community, list(id order by n) as ids
    from (select distinct community, id, n from inside)
    group by community
),
units as (
    select i.community, list(u.id order by u.n) as ids
    from (select distinct community, unnest(text_unit_ids) as unit from inside) as i
    inner join ms_text_units as u on u.id = i.unit
    group by i.community
),
members as (
    select community, list(entity_id order by position) as ids, count(*) as size
    from ms_members
    group by community
),
children as (
    select parent, list(community order by community) as ids from ms_communities group by parent
)
select
    b.id, b.human_readable_id, b.community, b.level, b.parent,
    {given_list("children", "coalesce(k.ids, [])", _NUMBERS)}, b.title,
    {given_list("entity_ids", "coalesce(m.ids, [])")},
    {given_list("relationship_ids", "coalesce(r.ids, [])")},
    {given_list("text_unit_ids", "coalesce(u.ids, [])")},
    {given("period", "b.period")}, {given("size", "coalesce(m.size, 0)", "bigint")}
from ms_communities as b
left join children as k on k.parent = b.community
left join members as m on m.community = b.community
left join relationships as r on r.community = b.community
left join units as u on u.community = b.community
order by b.n
"""

_WRITTEN = """
json_object(
    'title', b.title, 'summary', b.summary, 'rating', b.rank,
    'rating_explanation', b.rating_explanation, 'findings', b.findings
)::varchar
"""

_REPORTS = f"""
with children as (
    select parent, list(community order by community) as ids from ms_communities group by parent
),
members as (select community, count(*) as size from ms_members group by community)
select
    b.id, b.human_readable_id, b.community, {given("level", "c.level", "bigint")},
    {given("parent", "c.parent", "bigint")},
    {given_list("children", "coalesce(k.ids, [])", _NUMBERS)}, b.title, b.summary, b.full_content, b.rank,
    b.rating_explanation, b.findings, {given("full_content_json", _WRITTEN)}, {given("period", "c.period")},
    {given("size", "coalesce(m.size, 0)", "bigint")}
from ms_reports as b
left join ms_communities as c on c.community = b.community
left join children as k on k.parent = b.community
left join members as m on m.community = b.community
order by b.n
"""

#: The tables, by the names of their files.
TABLES = {
    "documents": _DOCUMENTS,
    "text_units": _TEXT_UNITS,
    "entities": _ENTITIES,
    "relationships": _RELATIONSHIPS,
    "communities": _COMMUNITIES,
    "community_reports": _REPORTS,
    "covariates": _COVARIATES,
}

#: What is embedded is found by its text, whatever its id was where it came from.
VECTORS = {
    "entity_description": """
        select b.id, v.vector
        from ms_entities as b
        inner join graph_entities as e on e.name = b.name
        inner join embeddings_entities as v on v.entity_id = e.entity_id
        order by b.n
    """,
    "community_full_content": """
        select b.id, v.vector
        from ms_reports as b
        inner join (
            select content, min(report_id) as report_id from reports_community_reports group by content
        ) as r on r.content = b.full_content
        inner join embeddings_community_reports as v on v.report_id = r.report_id
        order by b.n
    """,
    "text_unit_text": """
        select b.id, v.vector
        from ms_text_units as b
        inner join (
            select text, min(text_unit_id) as text_unit_id from corpus_text_chunks group by text
        ) as u on u.text = b.text
        inner join embeddings_text_units as v on v.text_unit_id = u.text_unit_id
        order by b.n
    """,
}
#: Which rows each vector table is of.
EMBEDDED = {
    "entity_description": "ms_entities",
    "community_full_content": "ms_reports",
    "text_unit_text": "ms_text_units",
}
