"""The accounts of runs."""

from graphrag_dagster.kernel.tables.declaration import Table, column

_SUMS = (
    column("calls", "BIGINT", "Calls that the endpoint answered, whether or not the reply could be used"),
    column("cached", "BIGINT", "Replies and vectors that were remembered, so that nothing was sent"),
    column("retries", "BIGINT", "Times that a call was sent again because it failed on the way"),
    column("failed", "BIGINT", "Calls that got no answer, however often they were sent"),
    column("timeouts", "BIGINT", "Times that no answer came within the limit; part of retries and failed"),
    column("repeated", "BIGINT", "Calls that asked again after an unusable reply; part of calls"),
    column("input_tokens", "BIGINT", "Prompt tokens of the calls"),
    column("cached_input_tokens", "BIGINT", "Those of them that the provider had in its own cache"),
    column("output_tokens", "BIGINT", "Tokens of the replies"),
    column("saved_tokens", "BIGINT", "Tokens in and out of remembered replies, not paid again"),
    column("usd", "DOUBLE", "US dollars of the calls; null where a price is unknown", nullable=True),
    column("seconds", "DOUBLE", "Seconds that the endpoint was waited for, in vain or not, summed"),
)

MODEL_USAGE = Table(
    "usage",
    "model_usage",
    "usage",
    "What every run of this corpus asked of models, and what that took",
    ("run_id", "asset", "task", "model"),
    (
        column("run_id", "VARCHAR", "The Dagster run, or the id of a question"),
        column("asset", "VARCHAR", "The asset that asked, or ask for a question"),
        column("task", "VARCHAR", "What was asked for"),
        column("model", "VARCHAR", "The model that was asked"),
        column("begun", "VARCHAR", "When the account begins, UTC in ISO 8601"),
        *_SUMS,
    ),
)

RUN_USAGE = Table(
    "usage",
    "run_usage",
    "usage",
    "The same summed up by run",
    ("run_id",),
    (
        column("run_id", "VARCHAR", "The Dagster run, or the id of a question"),
        column("begun", "VARCHAR", "When the run's account begins, UTC in ISO 8601"),
        *_SUMS,
    ),
    sql=True,
)
