with instances as (
    select
        coalesce(a.entity, e.name) as name,
        a.title,
        e.surface,
        e.type,
        e.description,
        e.text_unit_id,
        row_number() over (order by u.human_readable_id, e.round, e.position) as seen
    from {{ ref('extraction.gleaned_entities') }} as e
    inner join {{ ref('corpus.text_chunks') }} as u on u.text_unit_id = e.text_unit_id
    left join {{ ref('resolution.aliases') }} as a on a.document_id = u.document_id and a.name = e.name
),

spellings as (
    select name, surface, count(*) as times, min(seen) as first_seen
    from instances
    group by name, surface
),

types as (
    select name, type, count(*) as times, min(seen) as first_seen
    from instances
    group by name, type
),

descriptions as (
    select name, description, min(seen) as first_seen
    from instances
    where description <> ''
    group by name, description
),

units as (
    select name, text_unit_id, min(seen) as first_seen
    from instances
    group by name, text_unit_id
),

counted as (
    select name, min(title) as title, count(*) as instances
    from instances
    group by name
)

select
    c.name as name,
    coalesce(
        c.title,
        (select arg_min(s.surface, (-s.times, s.first_seen)) from spellings as s where s.name = c.name)
    ) as title,
    (select list(s.surface order by s.times desc, s.first_seen) from spellings as s where s.name = c.name) as names,
    (select arg_min(t.type, (-t.times, t.first_seen)) from types as t where t.name = c.name) as type,
    coalesce(
        (select list(d.description order by d.first_seen) from descriptions as d where d.name = c.name), []
    ) as descriptions,
    (select list(u.text_unit_id order by u.first_seen) from units as u where u.name = c.name) as text_unit_ids,
    (select count(*) from units as u where u.name = c.name)::integer as frequency,
    c.instances::integer as instances
from counted as c
