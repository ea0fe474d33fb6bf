select
    run_id,
    min(begun) as begun,
    sum(calls)::bigint as calls,
    sum(cached)::bigint as cached,
    sum(retries)::bigint as retries,
    sum(failed)::bigint as failed,
    sum(timeouts)::bigint as timeouts,
    sum(repeated)::bigint as repeated,
    sum(input_tokens)::bigint as input_tokens,
    sum(cached_input_tokens)::bigint as cached_input_tokens,
    sum(output_tokens)::bigint as output_tokens,
    sum(saved_tokens)::bigint as saved_tokens,
    case when count(*) filter (where usd is null) = 0 then sum(usd) end as usd,
    sum(seconds) as seconds
from {{ ref('usage.model_usage') }}
group by run_id
