with answers as (
    select answer_id, question_id, method as condition, refused, statements, unsupported, context_rows, context_tokens,
        trim(regexp_replace(text, '\s*\[\d+(,\s*\d+)*\]', '', 'g')) as words
    from {{ ref('answers.answers') }}
),

-- A count of the extractive engine never bears the name of the paper's measure.
taken_apart as (
    select answer_id, case max(engine) when 'extractive' then '-lex' else '' end as suffix
    from {{ ref('evaluation.answer_sentences') }}
    group by answer_id
),

claims as (
    select t.answer_id, 'claims' || t.suffix as measure,
        count(c.position) filter (where c.duplicate_of is null)::double as value
    from taken_apart as t
    left join {{ ref('evaluation.answer_claims') }} as c on c.answer_id = t.answer_id
    group by t.answer_id, t.suffix
),

thresholds as (
    select distinct threshold
    from {{ ref('evaluation.diversity_clusters') }}
),

clusters as (
    select k.answer_id, t.threshold, k.suffix,
        count(distinct c.cluster)::double as strict,
        count(distinct c.cluster_inclusive)::double as inclusive
    from taken_apart as k
    cross join thresholds as t
    left join {{ ref('evaluation.diversity_clusters') }} as c
        on c.answer_id = k.answer_id and c.threshold = t.threshold
    group by k.answer_id, t.threshold, k.suffix
),

counted as (
    select answer_id, measure, value
    from claims
    union all
    select answer_id, 'clusters' || suffix || ' ' || threshold as measure, strict as value
    from clusters
    union all
    select answer_id, 'clusters' || suffix || ' ' || threshold || ' inclusive' as measure, inclusive as value
    from clusters
    union all
    select answer_id, 'words' as measure, len(regexp_extract_all(words, '\S+'))::double as value
    from answers
    union all
    select answer_id, 'statements' as measure, statements::double as value
    from answers
    union all
    select answer_id, 'unsupported statements' as measure, unsupported::double as value
    from answers
    union all
    select answer_id, 'refusals' as measure, refused::integer::double as value
    from answers
    union all
    select answer_id, 'context units' as measure, context_rows::double as value
    from answers
    union all
    select answer_id, 'context tokens' as measure, context_tokens::double as value
    from answers
    union all
    select answer_id, family || ' ' || metric as measure, value
    from {{ ref('evaluation.quality_scores') }}
    where value is not null
)

select
    a.answer_id as answer_id,
    a.question_id as question_id,
    a.condition as condition,
    m.measure as measure,
    m.value as value
from counted as m
inner join answers as a on a.answer_id = m.answer_id
