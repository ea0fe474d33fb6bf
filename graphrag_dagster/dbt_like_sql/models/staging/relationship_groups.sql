with relations as (
    select
        least(head, tail) as source,
        greatest(head, tail) as target,
        said,
        weight,
        graph,
        text_unit_keys,
        {'path': path, 'row': "row"} as place
    from {{ ref('imports.relations') }}
    where outcome in ('read', 'dangling')
),

statements as (
    select source, target, list(said order by place) as descriptions
    from (select source, target, said, min(place) as place from relations group by source, target, said)
    group by source, target
),

stating as (
    select source, target, list(text_unit_id order by human_readable_id) as text_unit_ids
    from (
        select distinct r.source, r.target, c.text_unit_id, c.human_readable_id
        from (select source, target, graph, unnest(text_unit_keys) as key from relations) as r
        inner join {{ ref('imports.text_units') }} as u on u.graph = r.graph and u.key = r.key
        inner join {{ ref('corpus.text_chunks') }} as c on c.text_unit_id = u.text_unit_id
    )
    group by source, target
),

weighed as (
    select source, target, count(*) as instances, sum(weight order by place) as strength
    from relations
    group by source, target
),

ends as (
    select
        coalesce(s.entity, r.source) as one,
        coalesce(t.entity, r.target) as other,
        r.description,
        r.strength,
        r.text_unit_id,
        u.human_readable_id,
        r.round,
        r.position
    from {{ ref('extraction.gleaned_relationships') }} as r
    inner join {{ ref('corpus.text_chunks') }} as u on u.text_unit_id = r.text_unit_id
    left join {{ ref('resolution.aliases') }} as s on s.document_id = u.document_id and s.name = r.source
    left join {{ ref('resolution.aliases') }} as t on t.document_id = u.document_id and t.name = r.target
),

instances as (
    select
        least(one, other) as source,
        greatest(one, other) as target,
        description,
        strength,
        text_unit_id,
        human_readable_id as unit,
        row_number() over (order by human_readable_id, round, position) as seen
    from ends
    where
        one <> other
        and hash(least(one, other), greatest(one, other)) % coalesce(getvariable('buckets'), 1)
        = coalesce(getvariable('bucket'), 0)
),

descriptions as (
    select source, target, list(description order by first_seen) as descriptions
    from (
        select source, target, description, min(seen) as first_seen
        from instances
        where description <> ''
        group by source, target, description
    )
    group by source, target
),

counted as (
    -- Lists are sorted afterwards: an aggregate that has an order takes many times the memory.
    select
        source,
        target,
        count(*) as instances,
        list_sort(list({'seen': seen, 'strength': strength})) as strengths,
        list_sort(list({'number': unit, 'id': text_unit_id})) as units
    from instances
    group by source, target
)

select
    c.source as source,
    c.target as target,
    coalesce(d.descriptions, []) as descriptions,
    [one.id for one, i in c.units if i = 1 or one.number <> c.units[i - 1].number] as text_unit_ids,
    c.instances::integer as instances,
    list_sum([one.strength for one in c.strengths]) as strength
from counted as c
left join descriptions as d on d.source = c.source and d.target = c.target

union all by name

select
    w.source as source,
    w.target as target,
    s.descriptions as descriptions,
    coalesce(u.text_unit_ids, []) as text_unit_ids,
    w.instances::integer as instances,
    w.strength as strength
from weighed as w
inner join statements as s on s.source = w.source and s.target = w.target
left join stating as u on u.source = w.source and u.target = w.target
where hash(w.source, w.target) % coalesce(getvariable('buckets'), 1) = coalesce(getvariable('bucket'), 0)
