with records as (
    select name, title, type, description, graph, text_unit_keys, {'path': path, 'row': "row"} as place
    from {{ ref('imports.entities') }}
),

relations as (
    select head, tail, said, graph, text_unit_keys, {'path': path, 'row': "row"} as place
    from {{ ref('imports.relations') }}
),

declared as (
    select name, arg_min(title, place) as title, list(distinct title order by title) as names, count(*) as instances
    from records
    group by name
),

typed as (
    select name, arg_min(type, {'fewer': -times, 'place': place}) as type
    from (
        select name, type, count(*) as times, min(place) as place
        from records
        where type <> 'UNKNOWN'
        group by name, type
    )
    group by name
),

described as (
    select name, list(description order by place) as descriptions
    from (select name, description, min(place) as place from records where description <> '' group by name, description)
    group by name
),

-- What a graph says of an entity that it does not describe: the first of its relations.
named as (
    select name, array_to_string(arg_min(said, place, 12), '; ') as said
    from (
        select head as name, said, place from relations
        union all
        select tail, said, place from relations where tail <> head
        union all
        select name, null, place from records
    )
    group by name
),

naming as (
    select name, list(text_unit_id order by human_readable_id) as text_unit_ids
    from (
        select distinct r.name, c.text_unit_id, c.human_readable_id
        from (
            select name, graph, unnest(text_unit_keys) as key from records
            union all
            select head, graph, unnest(text_unit_keys) from relations
            union all
            select tail, graph, unnest(text_unit_keys) from relations
        ) as r
        inner join {{ ref('imports.text_units') }} as u on u.graph = r.graph and u.key = r.key
        inner join {{ ref('corpus.text_chunks') }} as c on c.text_unit_id = u.text_unit_id
    )
    group by name
),

instances as (
    select
        coalesce(a.entity, e.name) as name,
        a.title,
        e.surface,
        coalesce(a.type, e.type) as type,
        u.document_id,
        e.description,
        e.text_unit_id,
        row_number() over (order by u.human_readable_id, e.round, e.position) as seen
    from {{ ref('extraction.gleaned_entities') }} as e
    inner join {{ ref('corpus.text_chunks') }} as u on u.text_unit_id = e.text_unit_id
    left join {{ ref('resolution.aliases') }} as a on a.document_id = u.document_id and a.name = e.name
    where hash(coalesce(a.entity, e.name)) % coalesce(getvariable('buckets'), 1) = coalesce(getvariable('bucket'), 0)
),

spellings as (
    select name, surface, count(*) as times, min(seen) as first_seen
    from instances
    group by name, surface
),

types as (
    select name, type, count(distinct document_id) as documents, count(*) as times, min(seen) as first_seen
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
    (select arg_min(t.type, (-t.documents, -t.times, t.first_seen)) from types as t where t.name = c.name) as type,
    coalesce(
        (select list(d.description order by d.first_seen) from descriptions as d where d.name = c.name), []
    ) as descriptions,
    (select list(u.text_unit_id order by u.first_seen) from units as u where u.name = c.name) as text_unit_ids,
    (select count(*) from units as u where u.name = c.name)::integer as frequency,
    c.instances::integer as instances
from counted as c

union all by name

select
    d.name,
    coalesce(e.title, d.name) as title,
    coalesce(e.names, [d.name]) as names,
    coalesce(t.type, 'UNKNOWN') as type,
    coalesce(c.descriptions, list_filter([d.said], lambda said: said is not null)) as descriptions,
    coalesce(n.text_unit_ids, []) as text_unit_ids,
    coalesce(len(n.text_unit_ids), 0)::integer as frequency,
    coalesce(e.instances, 1)::integer as instances
from named as d
left join declared as e on e.name = d.name
left join typed as t on t.name = d.name
left join described as c on c.name = d.name
left join naming as n on n.name = d.name
where hash(d.name) % coalesce(getvariable('buckets'), 1) = coalesce(getvariable('bucket'), 0)
