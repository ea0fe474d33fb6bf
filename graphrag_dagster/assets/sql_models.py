"""Assets made from the SQL models."""

from dagster import (
    AssetExecutionContext,
    AssetsDefinition,
    MaterializeResult,
    MetadataValue,
    TableColumnDep,
    TableColumnLineage,
)

from graphrag_dagster.dbt_like_sql.loader import SqlModel, our_models
from graphrag_dagster.orchestration.data_versions import data_version
from graphrag_dagster.orchestration.declare import describe, key_of, table_asset
from graphrag_dagster.orchestration.io_manager import stored_at
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import table


def _lineage(model: SqlModel) -> TableColumnLineage:
    return TableColumnLineage(
        {
            column: [TableColumnDep(key_of(table(source)), name) for source, name in sources]
            for column, sources in model.lineage.items()
        }
    )


def _description(model: SqlModel) -> str:
    lines = ["| column | computed from |", "| --- | --- |"]
    for column, sources in model.lineage.items():
        lines.append(f"| {column} | {', '.join(f'{s}.{c}' for s, c in sources) or 'row counts'} |")
    return f"{model.table.meaning}\n\n" + "\n".join(lines)


def _asset_of(model: SqlModel) -> AssetsDefinition:
    @table_asset(
        model.table,
        sources=[model.file],
        description=_description(model),
        deps=[key_of(ref) for ref in model.refs],
    )
    def sql_model(context: AssetExecutionContext, warehouse: Warehouse) -> MaterializeResult[None]:
        rows = warehouse.write_query(model.table, context.partition_key, model.query)
        return MaterializeResult(
            metadata={
                **describe(rows),
                **stored_at(warehouse.file(context.partition_key)),
                "dagster/column_lineage": _lineage(model),
                "query": MetadataValue.md(f"```sql\n{model.query}\n```"),
            },
            data_version=data_version(model.table, rows),
        )

    return sql_model


SQL_ASSETS = [_asset_of(model) for model in our_models()]
