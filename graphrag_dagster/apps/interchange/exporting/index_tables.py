"""An index of documents as the views that Microsoft GraphRAG's tables are made of.

Each has ``n``, the place of its rows, and ``attributes``, values that are written as they are under the
names that Microsoft GraphRAG has for them; an index of our own has none of these.
"""

from graphrag_dagster.apps.interchange.exporting.export_source import ExportSource

_NONE = "'{}'::varchar as attributes"

#: Titles that several entities have get the number of each behind them: relationships name entities by title.
TITLES = """
with counted as (
    select
        entity_id, name, human_readable_id,
        case
            when count(*) over (partition by title) = 1 then title
            else title || ' (#' || human_readable_id || ')'
        end as numbered
    from graph_entities
)
select
    entity_id, name,
    case
        when count(*) over (partition by numbered) = 1 then numbered
        else numbered || ' [' || entity_id || ']'
    end as title
from counted
"""

_DOCUMENTS = f"""
select
    human_readable_id as n, document_id as id, human_readable_id::bigint as human_readable_id, title, text,
    date as creation_date, {_NONE}
from corpus_documents
"""

_TEXT_UNITS = f"""
select
    human_readable_id as n, text_unit_id as id, human_readable_id::bigint as human_readable_id, text,
    tokens::bigint as n_tokens, document_id, {_NONE}
from corpus_text_chunks
"""

_ENTITIES = f"""
select
    e.human_readable_id as n, e.entity_id as id, e.human_readable_id::bigint as human_readable_id, e.name,
    t.title, e.type, e.description, e.text_unit_ids, e.frequency::bigint as frequency,
    e.degree::bigint as degree, {_NONE}
from graph_entities as e
inner join ms_titles as t on t.entity_id = e.entity_id
"""

_RELATIONSHIPS = f"""
select
    r.human_readable_id as n, r.relationship_id as id, r.human_readable_id::bigint as human_readable_id,
    s.title as source, t.title as target, r.description, r.weight,
    r.combined_degree::bigint as combined_degree, r.text_unit_ids, {_NONE}
from graph_relationships as r
inner join ms_titles as s on s.entity_id = r.source_id
inner join ms_titles as t on t.entity_id = r.target_id
"""

#: The words of a claim are those of its first record in the first of its units.
_COVARIATES = f"""
with records as (
    select
        coalesce(s.entity, c.subject) as subject,
        coalesce(o.entity, c.object, '') as object,
        c.type as type,
        c.text_unit_id as text_unit_id,
        min_by(
            array_to_string(
                list_transform(c.spans, lambda p: substr(u.text, p.start + 1, p."end" - p.start)), ' … '
            ),
            (c.round, c.position)
        ) as words
    from extraction_claims as c
    inner join corpus_text_chunks as u on u.text_unit_id = c.text_unit_id
    left join resolution_aliases as s on s.document_id = u.document_id and s.name = c.subject
    left join resolution_aliases as o on o.document_id = u.document_id and o.name = c.object
    group by all
)
select
    c.human_readable_id as n, c.claim_id as id, c.human_readable_id::bigint as human_readable_id,
    'claim' as covariate_type, c.type, c.description, coalesce(s.title, c.subject) as subject_id,
    coalesce(o.title, nullif(c.object, ''), 'NONE') as object_id, c.status, c.start_date, c.end_date,
    coalesce(r.words, '') as source_text, c.text_unit_ids[1] as text_unit_id, {_NONE}
from graph_claims as c
left join ms_titles as s on s.name = c.subject
left join ms_titles as o on o.name = c.object
left join records as r
    on r.subject = c.subject and r.object = coalesce(c.object, '') and r.type = c.type
    and r.text_unit_id = c.text_unit_ids[1]
"""

#: When it is of is no day of its making: the same snapshot is written alike whenever it is.
PERIOD = "(select coalesce(max(period_end)::varchar, '') from corpus_document_periods)"

#: Their levels begin at 0; ours may begin above C0.
_COMMUNITIES = f"""
select
    c.human_readable_id as n, c.community_id as id, c.human_readable_id::bigint as human_readable_id,
    c.human_readable_id::bigint as community,
    (c.level - (select min(level) from graph_communities))::bigint as level,
    coalesce(p.human_readable_id, -1)::bigint as parent, 'Community ' || c.human_readable_id as title,
    {PERIOD} as period, {_NONE}
from graph_communities as c
left join graph_communities as p on p.community_id = c.parent_id
"""

REPORTS = f"""
select
    r.human_readable_id as n, r.report_id as id, r.human_readable_id::bigint as human_readable_id,
    c.human_readable_id::bigint as community, r.title, r.summary, r.content as full_content,
    r.rating as rank, r.rating_explanation, coalesce(f.findings, []) as findings, {_NONE}
from reports_community_reports as r
inner join graph_communities as c on c.community_id = r.report_id
left join (
    select
        report_id,
        list(struct_pack(explanation := explanation, summary := summary) order by position) as findings
    from reports_report_findings
    group by report_id
) as f on f.report_id = r.report_id
"""

_MEMBERS = """
select c.human_readable_id::bigint as community, b.id as entity_id, b.n as position
from graph_community_members as m
inner join graph_communities as c on c.community_id = m.community_id
inner join graph_entities as e on e.entity_id = m.entity_id
inner join ({entities}) as b on b.name = e.name
"""
#: Where several rows are of one entity, the first stands for it.
_FIRST = "select name, arg_min(id, n) as id, min(n) as n from ms_entities group by name"


def define_records(source: ExportSource) -> None:
    """Name what an index has of documents, text units, entities, relationships and claims."""
    source.keep("ms_titles", TITLES)
    source.define("ms_documents", _DOCUMENTS)
    source.define("ms_text_units", _TEXT_UNITS)
    source.define("ms_entities", _ENTITIES)
    source.define("ms_relationships", _RELATIONSHIPS)
    source.define("ms_covariates", _COVARIATES)


def define_communities(source: ExportSource) -> None:
    """Name what an index has of communities; entities are named by then."""
    source.define("ms_communities", _COMMUNITIES)
    source.keep("ms_members", _MEMBERS.format(entities=_FIRST))


def define_reports(source: ExportSource) -> None:
    """Name what an index has of reports; communities are those of the index."""
    source.define("ms_reports", REPORTS)
