"""What Dagster shows of an asset before it is made: text, columns, code, place, when it is outdated."""

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from dagster import (
    AssetKey,
    AssetSpec,
    AutomationCondition,
    CodeReferencesMetadataValue,
    FreshnessPolicy,
    LocalFileCodeReference,
    TableColumn,
    TableColumnConstraints,
    TableColumnDep,
    TableColumnLineage,
    TableConstraints,
    TableSchema,
)

from graphrag_dagster.dbt_like_sql.loader import SqlModel, our_models
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.step_declaration import Step
from graphrag_dagster.kernel.tables.declared_tables import declared_table
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.resources.dagster_keys import IO_MANAGER, WITH_ALL_BELOW, asset_key

#: The SQL model of each table that one makes.
QUERIES: Mapping[Table, SqlModel] = {model.table: model for model in our_models()}
#: Some corpus should be published every other day. Dagster considers the latest materialisation of an asset,
#: of any corpus.
_FRESH = FreshnessPolicy.time_window(fail_window=timedelta(days=7), warn_window=timedelta(days=2))


def _outdated() -> AutomationCondition[AssetKey]:
    """Return the condition under which an index asset is made again, per corpus.

    It is missing, its code or prompts have changed, or the content of one of its inputs has. Everything
    downstream in the index is requested in the same run, so that the snapshot is published once, from one
    state. ``AutomationCondition.eager`` would react to every new materialisation, changed or not, and never
    to code.
    """
    condition = AutomationCondition
    # A run that made both has already handled the change.
    together = condition.executed_with_root_target() | condition.executed_with_tags(tag_values=WITH_ALL_BELOW)
    elsewhere = condition.data_version_changed() & ~together
    reads_news = condition.any_deps_match(
        elsewhere.with_label("changed_in_another_run") | condition.will_be_requested()
    )
    unready = condition.any_deps_match(condition.missing() & ~condition.will_be_requested())
    handled = condition.newly_requested() | condition.initial_evaluation()
    missing = condition.newly_missing().since(handled | condition.newly_updated())
    # A materialisation does not reset this: an input may have changed after it and before this tick.
    changed = (condition.code_version_changed() | reads_news).since(handled)
    return (
        (missing | changed)
        & ~unready.with_label("reads_what_is_missing")
        & ~condition.any_deps_match(condition.in_progress())
        & ~condition.in_progress()
    ).with_label("outdated")


_OUTDATED = _outdated()


def asset_specs(step: Step, shown: Collection[AssetKey], *, previews: bool) -> Iterator[AssetSpec]:
    """Yield the assets of a step.

    Args:
        step: the step.
        shown: all assets; what is made of others shows no dependency on them.
        previews: whether a preview of each table is recorded.
    """
    condition = None if step.requested else _OUTDATED
    code = {"dagster/code_references": CodeReferencesMetadataValue(code_references=[*_code(step)])}
    for table, made_of in step.assets.items():
        key = asset_key(table)
        yield AssetSpec(
            key,
            deps=_keys(made_of, shown),
            description=f"{table.meaning}\n\n{_PREVIEWED}" if previews else table.meaning,
            metadata={**_declared(table), **code},
            kinds={"duckdb", "sql"} if table.sql else {"duckdb", "polars"},
            code_version=code_version(table.group),
            group_name=key.path[0],
            automation_condition=condition,
        ).with_io_manager_key(IO_MANAGER)
    if step.artifact:
        key = asset_key(step.artifact)
        yield AssetSpec(
            key,
            deps=_keys(step.made_of, shown),
            description=inspect.getdoc(step.run),
            metadata=code,
            kinds={"html"} if step.artifact.endswith("report") else {"duckdb"},
            code_version=code_version(step.parts[-1]),
            freshness_policy=None if step.requested else _FRESH,
            group_name=key.path[0],
            automation_condition=condition,
        )


_PREVIEWED = (
    "`previews` is on: five rows are kept in Dagster's history until `graphrag-dagster delete --history`."
)


def _keys(made_of: Iterable[Table | str], shown: Collection[AssetKey]) -> list[AssetKey]:
    return [key for key in map(asset_key, made_of) if key in shown]


def _declared(table: Table) -> dict[str, Any]:
    columns = [TableColumn("corpus", "VARCHAR", "The corpus", TableColumnConstraints(nullable=False))]
    for column in table.columns:
        constraints = TableColumnConstraints(
            nullable=column.nullable,
            unique=table.key == (column.name,),
            other=[f"one of {', '.join(column.values)}"] if column.values else None,
        )
        columns.append(TableColumn(column.name, column.type, column.meaning, constraints))
    return {
        "dagster/column_schema": TableSchema(
            columns, TableConstraints([f"key: corpus, {', '.join(table.key)}"])
        ),
        "dagster/table_name": table.full_name,
        "dagster/storage_kind": "duckdb",
    }


def column_lineage(table: Table) -> dict[str, TableColumnLineage]:
    """Return the sources of each column as metadata of a materialisation, where Dagster looks for them.

    A column of a table made by SQL has the sources that its query names; any other, the column that it refers
    to. Empty if none is known.
    """
    if model := QUERIES.get(table):
        sources: Mapping[str, Iterable[tuple[str, str]]] = model.lineage
    else:
        sources = {
            column.name: [(name, referenced)]
            for column in table.columns
            if column.references
            for name, _, referenced in [column.references.rpartition(".")]
            if name != table.full_name
        }
    lineage = {
        column: [TableColumnDep(asset_key(declared_table(name)), source) for name, source in found]
        for column, found in sources.items()
    }
    return {"dagster/column_lineage": TableColumnLineage(lineage)} if lineage else {}


def _code(step: Step) -> Iterator[LocalFileCodeReference]:
    """Yield the locations of the code; Dagster's own helper reads every file."""
    for model in (QUERIES[table] for table in step.makes if table.sql):
        yield LocalFileCodeReference(file_path=str(model.file), label=model.file.name)
    code = step.run.__code__
    yield LocalFileCodeReference(file_path=code.co_filename, line_number=code.co_firstlineno)
