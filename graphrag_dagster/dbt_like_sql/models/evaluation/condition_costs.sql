select
    a.method as condition,
    count(*)::integer as answers,
    count(*) filter (where a.refused)::integer as refused,
    avg(a.context_rows)::double as context_rows,
    avg(a.context_tokens)::double as context_tokens,
    avg(c.calls)::double as calls,
    avg(c.input_tokens)::double as input_tokens,
    avg(c.output_tokens)::double as output_tokens,
    case when count(c.usd) = count(*) then avg(c.usd) end::double as usd,
    median(c.seconds)::double as seconds
from {{ ref('answers.answers') }} as a
inner join {{ ref('answers.answer_costs') }} as c on c.answer_id = a.answer_id
group by a.method
