with counted as (
    select
        question_id, condition_a, condition_b, criterion,
        count(*)::integer as replicates,
        count(*) filter (where winner = condition_a)::integer as wins_a,
        count(*) filter (where winner = condition_b)::integer as wins_b,
        count(*) filter (where winner is null)::integer as ties,
        count(*) filter (where problem is not null)::integer as unusable,
        avg(score_a)::double as score_a
    from {{ ref('evaluation.judgements') }}
    group by question_id, condition_a, condition_b, criterion
)

select
    question_id,
    condition_a,
    condition_b,
    criterion,
    replicates,
    wins_a,
    wins_b,
    ties,
    unusable,
    score_a,
    case when 2 * wins_a > replicates then condition_a when 2 * wins_b > replicates then condition_b end as label
from counted
