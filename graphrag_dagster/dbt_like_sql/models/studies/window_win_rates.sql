with both_ways as (
    select criterion, condition_a as own, condition_b as other, question_id, score_a as score
    from {{ ref('studies.window_judgements') }}
    union all
    select criterion, condition_b as own, condition_a as other, question_id, 100 - score_a as score
    from {{ ref('studies.window_judgements') }}
),

by_pair as (
    select criterion, own, other, avg(score) as score, count(distinct question_id) as questions
    from both_ways
    group by criterion, own, other
)

select
    criterion,
    own as "window",
    avg(score)::double as win_rate,
    max(questions)::integer as questions
from by_pair
group by criterion, own
