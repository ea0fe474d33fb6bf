"""The tables as they are read: copies that no run touches."""

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dagster import (
    AssetExecutionContext,
    AssetKey,
    DataVersion,
    MaterializeResult,
    MetadataValue,
)

from graphrag_dagster import tables
from graphrag_dagster.dbt_like_sql.loader import our_models
from graphrag_dagster.operations.keeping.publication import (
    code_of_tables,
    publish_index,
    publish_results,
)
from graphrag_dagster.orchestration.conditions import FRESH, OUTDATED
from graphrag_dagster.orchestration.declare import corpus_asset, key_of
from graphrag_dagster.orchestration.plots import treemap
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.home import explorer_url
from graphrag_dagster.resources.published import RESULTS, Accounts, Origin
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.resources.warehouse import Warehouse

if TYPE_CHECKING:
    from graphrag_dagster.operations.exploring.explorer import Explorer

_INDEX = tuple(table for table in tables.ALL_TABLES if table not in {*RESULTS, *tables.ACCOUNTS})
_RUN_USAGE = next(model.query for model in our_models() if model.table == tables.RUN_USAGE)


@corpus_asset(
    key=AssetKey(["marts", "published_snapshot"]),
    group_name="marts",
    kinds={"duckdb"},
    deps=[key_of(table) for table in _INDEX],
    automation_condition=OUTDATED,
    freshness_policy=FRESH,
    code_version=code_version("marts"),
)
def published_snapshot(
    context: AssetExecutionContext, warehouse: Warehouse, corpora: CorpusStore, memory: ReplyMemory
) -> MaterializeResult[None]:
    """All tables, those of the index as they are now, copied once all checks have passed."""
    # All that the explorer shows hangs on it; no step before this one needs any of it.
    from graphrag_dagster.operations.exploring.explorer import Explorer

    corpus = context.partition_key
    made = publish_index(
        warehouse, corpus, _origin(context, warehouse, corpora, memory), _INDEX, memory.database()
    )
    metadata = {**made.metadata(), **_shown(Explorer(corpus, warehouse, corpora))}
    return MaterializeResult(data_version=DataVersion(made.snapshot.index), metadata=metadata)


@corpus_asset(
    key=AssetKey(["marts", "published_results"]),
    group_name="marts",
    kinds={"duckdb"},
    deps=[published_snapshot, *(key_of(table) for table in RESULTS), AssetKey(["evaluation", "report"])],
    code_version=code_version("marts"),
)
def published_results(
    context: AssetExecutionContext, warehouse: Warehouse, corpora: CorpusStore, memory: ReplyMemory
) -> MaterializeResult[None]:
    """All tables, those that were made with the published index as they are now, copied beside it."""
    corpus = context.partition_key
    made = publish_results(warehouse, corpus, _origin(context, warehouse, corpora, memory), RESULTS)
    return MaterializeResult(data_version=DataVersion(made.snapshot.version), metadata=made.metadata())


def _shown(explorer: "Explorer") -> dict[str, Any]:
    """A link to the explorer, and the map it begins with."""
    cells = explorer.communities().cells
    return {
        "explorer": MetadataValue.url(f"{explorer_url()}/#/{quote(explorer.corpus, safe='')}"),
        "map": treemap([(one.title, one.size, one.rating) for one in cells], "Communities of C0"),
    }


def _origin(
    context: AssetExecutionContext, warehouse: Warehouse, corpora: CorpusStore, memory: ReplyMemory
) -> Origin:
    corpus = context.partition_key
    return Origin(
        settings=corpora.settings(corpus),
        run_id=context.run_id,
        code=code_of_tables(context.instance, context.run_id, warehouse, corpus),
        accounts=Accounts(memory.usage_log().table(corpus), _RUN_USAGE),
    )
