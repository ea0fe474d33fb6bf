"""The tables as they are read: copies that no run touches."""

from typing import Any

from dagster import (
    AssetExecutionContext,
    AssetKey,
    AssetRecordsFilter,
    DagsterEventType,
    DataVersion,
    MaterializeResult,
    asset,
)

from graphrag_dagster import tables
from graphrag_dagster.dbt_like_sql.loader import load_models
from graphrag_dagster.operations.keeping.residue import clear_older, erase
from graphrag_dagster.orchestration.code_versions.versions import code_version
from graphrag_dagster.orchestration.conditions import FRESH, OUTDATED
from graphrag_dagster.orchestration.declare import key_of, timed
from graphrag_dagster.orchestration.hooks import HOOKS
from graphrag_dagster.orchestration.partitions import CORPUS
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.published import (
    RESULTS,
    Accounts,
    Origin,
    Published,
    publish,
    snapshots,
)
from graphrag_dagster.resources.warehouse import Warehouse

_CODE_VERSION = "dagster/code_version"
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
    erased = erase(warehouse, corpus)
    made, changed = publish(warehouse, corpus, _origin(context, warehouse, corpora, language), fresh=_INDEX)
    cleared = clear_older(warehouse, corpus, made.version)
    gone = {**erased.metadata(), "snapshots_deleted": len(cleared)} if erased else {}
    return _result(warehouse, corpus, made, changed, made.index, **gone)


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
    made, changed = publish(warehouse, corpus, _origin(context, warehouse, corpora, language), fresh=RESULTS)
    return _result(warehouse, corpus, made, changed, made.version)


def _origin(
    context: AssetExecutionContext, warehouse: Warehouse, corpora: CorpusStore, language: Language
) -> Origin:
    corpus = context.partition_key
    return Origin(
        settings=corpora.settings(corpus),
        run_id=context.run_id,
        code=_code(context, warehouse),
        accounts=Accounts(language.usage_log().table(corpus), _RUN_USAGE),
    )


def _code(context: AssetExecutionContext, warehouse: Warehouse) -> dict[str, str]:
    """Versions of the code that made each table of the corpus last, by asset key."""
    instance, corpus = context.instance, context.partition_key
    # One query for all of this run: one for each table would take as long as the copy.
    of_run = instance.get_records_for_run(context.run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION)
    events = [one.event_log_entry.asset_materialization for one in of_run.records]
    made = {one.asset_key: one for one in events if one and one.partition == corpus}
    with warehouse.reading(corpus) as reader:
        older = [key for t in tables.ALL_TABLES if (key := key_of(t)) not in made and reader.has(t)]
    for key in older:
        wanted = AssetRecordsFilter(asset_key=key, asset_partitions=[corpus])
        for record in instance.fetch_materializations(wanted, limit=1).records:
            if record.asset_materialization:
                made[key] = record.asset_materialization
    versions = {"/".join(key.path): (one.tags or {}).get(_CODE_VERSION) for key, one in made.items()}
    declared = {"/".join(table.asset_key) for table in tables.ALL_TABLES}
    return {key: version for key, version in versions.items() if version and key in declared}


def _result(
    warehouse: Warehouse, corpus: str, made: Published, changed: bool, version: str, **more: Any
) -> MaterializeResult[None]:
    return MaterializeResult(
        data_version=DataVersion(version),
        metadata={
            "file": str(made.file),
            "version": made.version,
            "index": made.index,
            "changed": changed,
            "bytes": made.file.stat().st_size,
            "kept": len(snapshots(warehouse, corpus)),
            **more,
        },
    )
