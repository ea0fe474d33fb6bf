"""Tables that account for the model usage of runs."""

from graphrag_dagster.kernel.tables.table_declaration import Table, column

_SUMS = (
    column("calls", "BIGINT", "Calls that the endpoint answered, whether or not the reply was usable"),
    column("cached", "BIGINT", "Replies and vectors read from the LLM cache, so that nothing was sent"),
    column("retries", "BIGINT", "Times a call was sent again after a failure in transit"),
    column("failed", "BIGINT", "Calls that got no answer after all retries"),
    column(
        "timeouts", "BIGINT", "Calls without an answer within the time limit; included in retries and failed"
    ),
    column("repeated", "BIGINT", "Calls that asked again after an unusable reply; included in calls"),
    column("input_tokens", "BIGINT", "Prompt tokens of the calls"),
    column("cached_input_tokens", "BIGINT", "Prompt tokens served from the provider's own cache"),
    column("output_tokens", "BIGINT", "Completion tokens"),
    column("saved_tokens", "BIGINT", "Prompt and completion tokens of cached replies, not paid again"),
    column("usd", "DOUBLE", "US dollars of the calls; null if a price is unknown", nullable=True),
    column("seconds", "DOUBLE", "Total seconds spent waiting for the endpoint, failed calls included"),
)

MODEL_USAGE = Table(
    "usage",
    "model_usage",
    "usage",
    "Model requests of every run of this corpus, and their cost",
    ("run_id", "asset", "task", "model"),
    (
        column("run_id", "VARCHAR", "The Dagster run, or the id of a question"),
        column("asset", "VARCHAR", "The asset that made the requests, or ask for a question"),
        column("task", "VARCHAR", "Task of the requests"),
        column("model", "VARCHAR", "The model that was used"),
        column("begun", "VARCHAR", "Start of the account, UTC in ISO 8601"),
        *_SUMS,
    ),
)

RUN_USAGE = Table(
    "usage",
    "run_usage",
    "usage",
    "Model usage summed up by run",
    ("run_id",),
    (
        column("run_id", "VARCHAR", "The Dagster run, or the id of a question"),
        column("begun", "VARCHAR", "Start of the run's account, UTC in ISO 8601"),
        *_SUMS,
    ),
    sql=True,
)

#: Usage accounts grow with every run. All other tables have the same rows for the same input.
ACCOUNTS = (MODEL_USAGE, RUN_USAGE)
