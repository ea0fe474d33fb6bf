"""What runs asked of models."""

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.accounting.use import ModelUse
from graphrag_dagster.engines.session import shown_use
from graphrag_dagster.orchestration.declare import key_of, result, table_asset
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.tables import (
    ANSWER_SENTENCES,
    ANSWERS,
    COMMUNITY_REPORTS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    EXTRACTION_COUNTS,
    JUDGEMENTS,
    MERGED_CLAIMS,
    MODEL_USAGE,
    PERSONA_QUESTIONS,
    QUALITY_SCORES,
    RELATIONSHIPS,
    REPORT_EMBEDDINGS,
    TEXT_UNIT_EMBEDDINGS,
    THEMES,
    UNIT_LEDGER,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
)

_ASKING = (
    UNIT_LEDGER,
    ENTITIES,
    RELATIONSHIPS,
    MERGED_CLAIMS,
    COMMUNITY_REPORTS,
    TEXT_UNIT_EMBEDDINGS,
    ENTITY_EMBEDDINGS,
    REPORT_EMBEDDINGS,
    PERSONA_QUESTIONS,
    ANSWERS,
    JUDGEMENTS,
    THEMES,
    ANSWER_SENTENCES,
    QUALITY_SCORES,
    EXTRACTION_COUNTS,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
)


@table_asset(
    MODEL_USAGE,
    deps=[key_of(table) for table in _ASKING],
    also=("core.accounting.use", "model_calls.memory.usage"),
)
def model_usage(context: AssetExecutionContext, memory: ReplyMemory) -> Output[pl.DataFrame]:
    """The account of every run: calls, retries, tokens, money and seconds by asset, task and model."""
    log = memory.usage_log()
    run = log.of_run(context.partition_key, context.run_id)
    this_run = shown_use(run) if run != ModelUse() else {"model_calls": 0}
    return result(log.table(context.partition_key), **this_run)
