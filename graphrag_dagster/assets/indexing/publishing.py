"""The tables as they are read: copies that no run touches."""

from dagster import (
    AssetExecutionContext,
    AssetKey,
    DataVersion,
    MaterializeResult,
    asset,
)

from graphrag_dagster import tables
from graphrag_dagster.dbt_like_sql.loader import load_models
from graphrag_dagster.operations.keeping.publication import (
    code_of_tables,
    publish_index,
    publish_results,
)
from graphrag_dagster.orchestration.code_versions.versions import code_version
from graphrag_dagster.orchestration.conditions import FRESH, OUTDATED
from graphrag_dagster.orchestration.declare import key_of, timed
from graphrag_dagster.orchestration.hooks import HOOKS
from graphrag_dagster.orchestration.partitions import CORPUS
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.published import RESULTS, Accounts, Origin
from graphrag_dagster.resources.warehouse import Warehouse

_FORMAT = ("resources.published",)
_INDEX = tuple(table for table in tables.ALL_TABLES if table not in {*RESULTS, *tables.ACCOUNTS})
_RUN_USAGE = next(model.query for model in load_models() if model.table == tables.RUN_USAGE)


@asset(
    key=AssetKey(["marts", "published_snapshot"]),
    group_name="marts",
    kinds={"duckdb"},
    deps=[key_of(table) for table in _INDEX],
    automation_condition=OUTDATED,
    freshness_policy=FRESH,
    hooks=HOOKS,
    partitions_def=CORPUS,
    code_version=code_version("marts/published_snapshot", f"{__name__}:published_snapshot", also=_FORMAT),
)
@timed
def published_snapshot(
    context: AssetExecutionContext, warehouse: Warehouse, corpora: CorpusStore, language: Language
) -> MaterializeResult[None]:
    """All tables, those of the index as they are now, copied once all checks have passed."""
    corpus = context.partition_key
    made = publish_index(warehouse, corpus, _origin(context, warehouse, corpora, language), _INDEX)
    return MaterializeResult(data_version=DataVersion(made.snapshot.index), metadata=made.metadata())


@asset(
    key=AssetKey(["marts", "published_results"]),
    group_name="marts",
    kinds={"duckdb"},
    deps=[published_snapshot, *(key_of(table) for table in RESULTS), AssetKey(["evaluation", "report"])],
    hooks=HOOKS,
    partitions_def=CORPUS,
    code_version=code_version("marts/published_results", f"{__name__}:published_results", also=_FORMAT),
)
@timed
def published_results(
    context: AssetExecutionContext, warehouse: Warehouse, corpora: CorpusStore, language: Language
) -> MaterializeResult[None]:
    """All tables, those that were made with the published index as they are now, copied beside it."""
    corpus = context.partition_key
    made = publish_results(warehouse, corpus, _origin(context, warehouse, corpora, language), RESULTS)
    return MaterializeResult(data_version=DataVersion(made.snapshot.version), metadata=made.metadata())


def _origin(
    context: AssetExecutionContext, warehouse: Warehouse, corpora: CorpusStore, language: Language
) -> Origin:
    corpus = context.partition_key
    return Origin(
        settings=corpora.settings(corpus),
        run_id=context.run_id,
        code=code_of_tables(context.instance, context.run_id, warehouse, corpus),
        accounts=Accounts(language.usage_log().table(corpus), _RUN_USAGE),
    )
