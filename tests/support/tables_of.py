"""The contents of a corpus's DuckDB file, for comparison."""

import duckdb

from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import ACCOUNTS, ALL_TABLES

#: Groups that other jobs than ``index`` make.
EVALUATING = ("questions", "answers", "evaluation", "studies")


def contents(warehouse: Warehouse, corpus: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table that the job ``index`` makes, in stored order and with the column ``corpus``.

    Without the accounts of runs, in which every run differs.
    """
    with duckdb.connect(str(warehouse.file(corpus)), read_only=True) as connection:
        return {
            table.full_name: connection.execute(f'from "{table.schema}"."{table.name}"').fetchall()
            for table in ALL_TABLES
            if table not in ACCOUNTS and table.group not in EVALUATING
        }
