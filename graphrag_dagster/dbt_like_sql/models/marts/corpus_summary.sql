with files as (
    select 'files' as area, status as measure, count(*)::double as value
    from {{ ref('corpus.files') }}
    group by status
    union all
    select 'files', 'read in part', count(*)::double
    from {{ ref('corpus.files') }}
    where status = 'read' and incomplete
    having count(*) > 0
),

imports as (
    select 'imports' as area, record || ': ' || outcome as measure, sum(rows)::double as value
    from {{ ref('imports.account') }}
    group by record, outcome
),

documents as (
    select 'documents' as area, unnest(['documents', 'characters']) as measure,
        unnest([count(*), coalesce(sum(characters), 0)])::double as value
    from {{ ref('corpus.documents') }}
),

text_units as (
    select 'text units' as area, unnest(['text units', 'tokens']) as measure,
        unnest([count(*), coalesce(sum(tokens), 0)])::double as value
    from {{ ref('corpus.text_chunks') }}
),

ledger as (
    select 'extraction' as area, 'units ' || state as measure, count(*)::double as value
    from {{ ref('extraction.unit_ledger') }}
    group by state
),

records as (
    select 'extraction' as area,
        unnest(['entity records', 'relationship records', 'claim records', 'records repaired', 'model calls']) as measure,
        unnest([
            coalesce(sum(entities), 0), coalesce(sum(relationships), 0), coalesce(sum(claims), 0),
            coalesce(sum(repaired), 0), coalesce(sum(calls), 0)
        ])::double as value
    from {{ ref('extraction.unit_ledger') }}
),

quarantine as (
    select 'extraction' as area, kind || ' records quarantined' as measure, count(*)::double as value
    from {{ ref('extraction.quarantine') }}
    group by kind
),

self_loops as (
    select 'graph' as area, 'self-loops left out' as measure, count(*)::double as value
    from (
        select 1
        from {{ ref('extraction.gleaned_relationships') }} as r
        inner join {{ ref('corpus.text_chunks') }} as u on u.text_unit_id = r.text_unit_id
        left join {{ ref('resolution.aliases') }} as s on s.document_id = u.document_id and s.name = r.source
        left join {{ ref('resolution.aliases') }} as t on t.document_id = u.document_id and t.name = r.target
        where coalesce(s.entity, r.source) = coalesce(t.entity, r.target)
        union all
        select 1
        from {{ ref('imports.relations') }}
        where outcome = 'loop'
    )
),

names as (
    select 'resolution' as area, unnest(['names', 'entities that they are names of']) as measure,
        unnest([count(distinct name), count(distinct entity)])::double as value
    from {{ ref('resolution.aliases') }}
),

rulings as (
    select 'resolution' as area,
        unnest(['pairs ruled by a model', 'pairs with a problem', 'pairs repaired']) as measure,
        unnest([
            count(*) filter (where decided_by = 'model'), count(problem), count(*) filter (where repaired > 0)
        ])::double as value
    from {{ ref('resolution.decisions') }}
),

decisions as (
    select 'resolution' as area, 'pairs of names: ' || verdict as measure, count(*)::double as value
    from {{ ref('resolution.decisions') }}
    group by verdict
),

nodes as (
    select 'graph' as area, unnest(['entities', 'entities without relationship']) as measure,
        unnest([count(*), count(*) filter (where degree = 0)])::double as value
    from {{ ref('graph.entities') }}
),

edges as (
    select 'graph' as area, 'relationships' as measure, count(*)::double as value
    from {{ ref('graph.relationships') }}
),

triples as (
    select 'graph' as area, unnest(['triples', 'labels of triples', 'triples that only co-occur']) as measure,
        unnest([
            count(*), count(distinct relation), count(*) filter (where relation = 'co_occurs')
        ])::double as value
    from {{ ref('graph.triples') }}
),

merged_claims as (
    select 'graph' as area, 'claims' as measure, count(*)::double as value
    from {{ ref('graph.claims') }}
),

descriptions as (
    select 'graph' as area, unnest(['descriptions with a problem', 'descriptions repaired']) as measure,
        unnest([count(description_problem), count(*) filter (where description_repaired > 0)])::double as value
    from (
        select description_problem, description_repaired from {{ ref('graph.entities') }}
        union all
        select description_problem, description_repaired from {{ ref('graph.relationships') }}
        union all
        select description_problem, description_repaired from {{ ref('graph.claims') }}
    )
),

clustered as (
    select 'communities' as area, unnest(['clustered entities', 'coverage of entities']) as measure,
        unnest([
            (select count(distinct entity_id) from {{ ref('graph.community_members') }}),
            coalesce(
                (select count(distinct entity_id) from {{ ref('graph.community_members') }})
                / nullif((select count(*) from {{ ref('graph.entities') }}), 0),
                0
            )
        ])::double as value
),

communities as (
    select 'communities' as area, 'communities at level ' || level as measure, count(*)::double as value
    from {{ ref('graph.communities') }}
    group by level
),

levels as (
    select 'communities' as area, 'communities in C' || level as measure,
        count(distinct community_id)::double as value
    from {{ ref('graph.community_levels') }}
    group by level
),

context_nodes as (
    select 'context' as area,
        unnest([
            'context nodes of C' || level,
            'misaligned in C' || level || ', behind the budget',
            'misaligned in C' || level || ', too far away',
            'misaligned in C' || level || ', without a score after the penalty',
            'misaligned in C' || level || ', like nothing',
            'nodes of C' || level || ' without a vector'
        ]) as measure,
        unnest([taken, over_budget, unreachable, penalised, dissimilar, without_vector])::double as value
    from {{ ref('graph.context_account') }}
),

reports as (
    select 'reports' as area, 'reports by ' || engine || ' engine' as measure, count(*)::double as value
    from {{ ref('reports.community_reports') }}
    group by engine
),

report_problems as (
    select 'reports' as area, unnest(['reports replaced after a problem', 'reports repaired']) as measure,
        unnest([count(problem), count(*) filter (where repaired > 0)])::double as value
    from {{ ref('reports.community_reports') }}
),

citations as (
    select 'reports' as area, unnest(['citations', 'citations removed as invalid']) as measure,
        unnest([count(*) filter (where valid), count(*) filter (where not valid)])::double as value
    from {{ ref('reports.report_references') }}
)

select area, measure, value from files
union all select area, measure, value from imports
union all select area, measure, value from documents
union all select area, measure, value from text_units
union all select area, measure, value from ledger
union all select area, measure, value from records
union all select area, measure, value from quarantine
union all select area, measure, value from names
union all select area, measure, value from decisions
union all select area, measure, value from rulings
union all select area, measure, value from self_loops
union all select area, measure, value from nodes
union all select area, measure, value from edges
union all select area, measure, value from triples
union all select area, measure, value from merged_claims
union all select area, measure, value from descriptions
union all select area, measure, value from clustered
union all select area, measure, value from communities
union all select area, measure, value from levels
union all select area, measure, value from context_nodes
union all select area, measure, value from reports
union all select area, measure, value from report_problems
union all select area, measure, value from citations
