with records as (
    select
        coalesce(s.entity, r.source) as source,
        coalesce(t.entity, r.target) as target,
        r.relation,
        r.basis,
        r.strength,
        r.text_unit_id,
        r.spans[1] as span,
        row_number() over (order by u.human_readable_id, r.round, r.position) as seen
    from {{ ref('extraction.gleaned_relationships') }} as r
    inner join {{ ref('corpus.text_chunks') }} as u on u.text_unit_id = r.text_unit_id
    left join {{ ref('resolution.aliases') }} as s on s.document_id = u.document_id and s.name = r.source
    left join {{ ref('resolution.aliases') }} as t on t.document_id = u.document_id and t.name = r.target
),

directed as (
    select
        -- To stand in one sentence has no direction.
        case when basis = 'co_occurrence' then least(source, target) else source end as head,
        relation,
        case when basis = 'co_occurrence' then greatest(source, target) else target end as tail,
        strength,
        text_unit_id,
        span,
        seen
    from records
    where source <> target
),

units as (
    select head, relation, tail, list(text_unit_id order by first_seen) as text_unit_ids
    from (
        select head, relation, tail, text_unit_id, min(seen) as first_seen
        from directed
        group by head, relation, tail, text_unit_id
    )
    group by head, relation, tail
),

counted as (
    select
        head,
        relation,
        tail,
        count(*) as instances,
        sum(strength order by seen) as strength,
        min(seen) as first_seen,
        -- The first record whose words are known, else the first.
        arg_min({'unit': text_unit_id, 'span': span}, (span is null, seen)) as evidence
    from directed
    group by head, relation, tail
)

select
    left(
        sha256(
            '6:triple' || length(c.head) || ':' || c.head || length(c.relation) || ':' || c.relation
            || length(c.tail) || ':' || c.tail
        ),
        32
    ) as triple_id,
    (row_number() over (order by c.first_seen) - 1)::integer as human_readable_id,
    c.head as head,
    c.relation as relation,
    c.tail as tail,
    h.entity_id as head_id,
    t.entity_id as tail_id,
    u.text_unit_ids as text_unit_ids,
    c.instances::integer as instances,
    c.strength as strength,
    c.evidence.unit as evidence_unit_id,
    c.evidence.span.start as start_char,
    c.evidence.span.end as end_char
from counted as c
inner join units as u on u.head = c.head and u.relation = c.relation and u.tail = c.tail
left join {{ ref('graph.entities') }} as h on h.name = c.head
left join {{ ref('graph.entities') }} as t on t.name = c.tail
