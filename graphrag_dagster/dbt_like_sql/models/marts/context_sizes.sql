with reports as (
    select distinct 'C' || l.level as condition, r.report_id, r.tokens
    from {{ ref('graph.community_levels') }} as l
    inner join {{ ref('reports.community_reports') }} as r on r.report_id = l.community_id
),

read as (
    select condition, tokens
    from reports
    union all
    select 'TS' as condition, tokens
    from {{ ref('corpus.text_chunks') }}
),

source as (
    select sum(tokens) as tokens
    from {{ ref('corpus.text_chunks') }}
),

counted as (
    select condition, count(*) as units, sum(tokens) as tokens
    from read
    group by condition
)

select
    c.condition as condition,
    c.units::integer as units,
    c.tokens::bigint as tokens,
    (100.0 * c.tokens / nullif(s.tokens, 0))::double as percent_of_ts
from counted as c
cross join source as s
