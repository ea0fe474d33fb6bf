with relations as (
    select head, relation, tail, weight, graph, text_unit_keys, {'path': path, 'row': "row"} as place
    from {{ ref('imports.relations') }}
    where outcome in ('read', 'dangling')
),

stating as (
    select head, relation, tail, list(text_unit_id order by human_readable_id) as text_unit_ids
    from (
        select distinct r.head, r.relation, r.tail, c.text_unit_id, c.human_readable_id
        from (select head, relation, tail, graph, unnest(text_unit_keys) as key from relations) as r
        inner join {{ ref('imports.text_units') }} as u on u.graph = r.graph and u.key = r.key
        inner join {{ ref('corpus.text_chunks') }} as c on c.text_unit_id = u.text_unit_id
    )
    group by head, relation, tail
),

imported as (
    select head, relation, tail, count(*) as instances, sum(weight order by place) as strength, min(place) as place
    from relations
    group by head, relation, tail
),

records as (
    select
        coalesce(s.entity, r.source) as source,
        coalesce(t.entity, r.target) as target,
        r.relation,
        r.basis,
        r.strength,
        r.text_unit_id,
        u.human_readable_id as unit,
        r.spans[1] as span,
        row_number() over (order by u.human_readable_id, r.round, r.position) as seen
    from {{ ref('extraction.gleaned_relationships') }} as r
    inner join {{ ref('corpus.text_chunks') }} as u on u.text_unit_id = r.text_unit_id
    left join {{ ref('resolution.aliases') }} as s on s.document_id = u.document_id and s.name = r.source
    left join {{ ref('resolution.aliases') }} as t on t.document_id = u.document_id and t.name = r.target
),

gathered as (
    -- Lists are sorted afterwards: an aggregate that has an order takes many times the memory.
    select
        -- To stand in one sentence has no direction.
        case when basis = 'co_occurrence' then least(source, target) else source end as head,
        relation,
        case when basis = 'co_occurrence' then greatest(source, target) else target end as tail,
        count(*) as instances,
        list_sort(list({'seen': seen, 'strength': strength})) as strengths,
        list_sort(list({'number': unit, 'id': text_unit_id})) as units,
        min(seen) as first_seen,
        -- The first record whose words are known, else the first.
        arg_min({'unit': text_unit_id, 'span': span}, (span is null, seen)) as evidence
    from records
    where source <> target
    group by all
),

stated as (
    select
        head,
        relation,
        tail,
        instances,
        list_sum([one.strength for one in strengths]) as strength,
        [one.id for one, i in units if i = 1 or one.number <> units[i - 1].number] as text_unit_ids,
        evidence.unit as unit,
        evidence.span as span,
        row_number() over (order by first_seen) as seen
    from gathered
    union all
    select
        i.head,
        i.relation,
        i.tail,
        i.instances,
        i.strength,
        coalesce(s.text_unit_ids, []),
        s.text_unit_ids[1],
        null,
        row_number() over (order by i.place)
    from imported as i
    left join stating as s on s.head = i.head and s.relation = i.relation and s.tail = i.tail
)

select
    left(
        sha256(
            '6:triple' || length(c.head) || ':' || c.head || length(c.relation) || ':' || c.relation
            || length(c.tail) || ':' || c.tail
        ),
        32
    ) as triple_id,
    (c.seen - 1)::integer as human_readable_id,
    c.head as head,
    c.relation as relation,
    c.tail as tail,
    h.entity_id as head_id,
    t.entity_id as tail_id,
    c.text_unit_ids as text_unit_ids,
    c.instances::integer as instances,
    c.strength as strength,
    c.unit as evidence_unit_id,
    c.span.start as start_char,
    c.span.end as end_char
from stated as c
left join {{ ref('graph.entities') }} as h on h.name = c.head
left join {{ ref('graph.entities') }} as t on t.name = c.tail
