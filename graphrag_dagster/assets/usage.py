"""What runs asked of models."""

from collections.abc import Iterable

import polars as pl
from dagster import AssetExecutionContext, AssetsDefinition, Output

from graphrag_dagster.core.accounting.use import ModelUse
from graphrag_dagster.engines.session import shown_use
from graphrag_dagster.orchestration.declare import result, table_asset
from graphrag_dagster.orchestration.resource_keys import resource_key
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.tables import MODEL_USAGE


def usage_of(assets: Iterable[AssetsDefinition]) -> AssetsDefinition:
    """Return the asset of the account, made after those among the assets that ask models."""
    asking = [made for made in assets if resource_key("language") in made.required_resource_keys]

    @table_asset(
        MODEL_USAGE,
        deps=[next(iter(made.specs)).key for made in asking],
    )
    def model_usage(context: AssetExecutionContext, memory: ReplyMemory) -> Output[pl.DataFrame]:
        """The account of every run: calls, retries, tokens, money and seconds by asset, task and model."""
        log = memory.usage_log()
        run = log.of_run(context.partition_key, context.run_id)
        this_run = shown_use(run) if run != ModelUse() else {"model_calls": 0}
        return result(log.table(context.partition_key), **this_run)

    return model_usage
