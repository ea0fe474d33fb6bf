with instances as (
    select
        c.subject,
        coalesce(c.object, '') as object,
        c.type,
        c.status,
        c.description,
        c.start_date,
        c.end_date,
        k.text_unit_id,
        row_number() over (order by c.path, c."row") as seen
    from {{ ref('imports.claims') }} as c
    left join {{ ref('imports.text_units') }} as u on u.graph = c.graph and u.key = c.text_unit_key
    left join {{ ref('corpus.text_chunks') }} as k on k.text_unit_id = u.text_unit_id
    union all
    select
        coalesce(s.entity, c.subject) as subject,
        coalesce(o.entity, c.object, '') as object,
        c.type,
        c.status,
        c.description,
        c.start_date,
        c.end_date,
        c.text_unit_id,
        row_number() over (order by u.human_readable_id, c.round, c.position) as seen
    from {{ ref('extraction.claims') }} as c
    inner join {{ ref('corpus.text_chunks') }} as u on u.text_unit_id = c.text_unit_id
    left join {{ ref('resolution.aliases') }} as s on s.document_id = u.document_id and s.name = c.subject
    left join {{ ref('resolution.aliases') }} as o on o.document_id = u.document_id and o.name = c.object
),

descriptions as (
    select subject, object, type, list(description order by first_seen) as descriptions
    from (
        select subject, object, type, description, min(seen) as first_seen
        from instances
        where description <> ''
        group by subject, object, type, description
    )
    group by subject, object, type
),

units as (
    select subject, object, type, list(text_unit_id order by first_seen) as text_unit_ids
    from (
        select subject, object, type, text_unit_id, min(seen) as first_seen
        from instances
        where text_unit_id is not null
        group by subject, object, type, text_unit_id
    )
    group by subject, object, type
),

counted as (
    select
        subject,
        object,
        type,
        count(*) as instances,
        bool_or(status = 'TRUE') as held,
        bool_or(status = 'FALSE') as denied,
        min(start_date) as start_date,
        -- A year ends after each of its months.
        rtrim(max(end_date || '~'), '~') as end_date
    from instances
    group by subject, object, type
)

select
    c.subject as subject,
    c.object as object,
    c.type as type,
    case
        when c.held and not c.denied then 'TRUE'
        when c.denied and not c.held then 'FALSE'
        else 'SUSPECTED'
    end as status,
    c.start_date as start_date,
    c.end_date as end_date,
    coalesce(d.descriptions, []) as descriptions,
    coalesce(u.text_unit_ids, []) as text_unit_ids,
    c.instances::integer as instances
from counted as c
left join units as u on u.subject = c.subject and u.object = c.object and u.type = c.type
left join descriptions as d on d.subject = c.subject and d.object = c.object and d.type = c.type
