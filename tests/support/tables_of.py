"""The contents of a corpus's DuckDB file, for comparison."""

from collections.abc import Collection

import duckdb

from graphrag_dagster.kernel.catalogue.registry import stages_made
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import ACCOUNTS, ANSWER_COSTS
from graphrag_dagster.kernel.tables.declared_tables import all_tables

#: Groups that other jobs than ``index`` make.
EVALUATING = tuple(stages_made("request"))


def contents(
    warehouse: Warehouse, corpus: str, without: Collection[str] = EVALUATING
) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table that there is, in stored order and with the column ``corpus``.

    Without the accounts of runs and answers, in which every run differs.

    Args:
        warehouse: holds the file.
        corpus: whose tables are read.
        without: groups left out, by default those that other jobs than ``index`` make.
    """
    with duckdb.connect(str(warehouse.file(corpus)), read_only=True) as connection:
        made = set(connection.execute("select schema_name, table_name from duckdb_tables()").fetchall())
        return {
            table.full_name: connection.execute(f'from "{table.schema}"."{table.name}"').fetchall()
            for table in all_tables()
            if table not in (*ACCOUNTS, ANSWER_COSTS)
            and table.group not in without
            and (table.schema, table.name) in made
        }
