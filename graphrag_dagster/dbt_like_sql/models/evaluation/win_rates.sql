with both_ways as (
    select criterion, condition_a as condition, condition_b as opponent, score_a as score, ties, replicates
    from {{ ref('evaluation.comparisons') }}
    union all
    select criterion, condition_b as condition, condition_a as opponent, 100 - score_a as score, ties, replicates
    from {{ ref('evaluation.comparisons') }}
)

select
    criterion,
    condition,
    opponent,
    avg(score)::double as win_rate,
    count(*)::integer as questions,
    (sum(ties) / sum(replicates))::double as ties
from both_ways
group by criterion, condition, opponent
