with ends as (
    select
        least(0, coalesce(min(level), 0)) as top,
        greatest(3, coalesce(max(level), 0)) as deepest
    from {{ ref('graph.communities') }}
),

levels as (
    select unnest(generate_series(top, deepest))::integer as level
    from ends
)

select
    k.level as level,
    m.entity_id as entity_id,
    arg_max(m.community_id, m.level) as community_id,
    max(m.level) < k.level as projected
from levels as k
inner join {{ ref('graph.community_members') }} as m on m.level <= k.level
group by k.level, m.entity_id
