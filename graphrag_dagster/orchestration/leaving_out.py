"""Stages are for corpora of some kinds, and some can be switched off: what is not made is empty."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any

import polars as pl
from dagster import AssetExecutionContext, MaterializeResult, Output

from graphrag_dagster.catalogue.registry import kinds, stages
from graphrag_dagster.orchestration.data_versions import data_version
from graphrag_dagster.orchestration.io_manager import stored_at
from graphrag_dagster.orchestration.widened import Widened
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import VECTOR, Table


def made_where_wanted(function: Callable[..., Any], *tables: Table) -> Callable[..., Any]:
    """Have a function or generator do nothing for corpora without its stage: its tables are empty.

    What reads them then finds nothing there; a table that is not made would keep it from being made too.

    Args:
        function: makes the tables of a corpus.
        tables: of one stage; without any, or where the stage is for all, nothing changes.
    """
    stage = stages()[tables[0].group] if tables else None
    if stage is None or (set(kinds()) <= set(stage.kinds) and not stage.switch):
        return function
    needed = {"context": AssetExecutionContext, "corpora": CorpusStore}
    if isgeneratorfunction(function):
        needed["warehouse"] = Warehouse
    widened = Widened(function, needed)

    def left_out(arguments: dict[str, Any]) -> bool:
        context: AssetExecutionContext = arguments["context"]
        settings = arguments["corpora"].settings(context.partition_key)
        made: bool = settings.makes(stage.name)
        if not made and settings.kind not in stage.kinds:
            context.log.info(f"not for corpora of kind {settings.kind}: nothing is made")
        elif not made:
            context.log.info(f"{stage.switch}.enabled is off: nothing is made")
        return not made

    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        all_named, own = widened.split(arguments, named)
        return Output(_nothing(tables[0]), metadata=_NO_ROWS) if left_out(all_named) else function(**own)

    @wraps(function)
    def generate(*arguments: Any, **named: Any) -> Iterator[Any]:
        all_named, own = widened.split(arguments, named)
        yield from _emptied(tables, **all_named) if left_out(all_named) else function(**own)

    # Dagster reads off the function itself whether it gives one result or several.
    return widened.signed(generate if isgeneratorfunction(function) else run)


_NO_ROWS = {"dagster/partition_row_count": 0}


def _emptied(
    tables: Sequence[Table], context: AssetExecutionContext, warehouse: Warehouse, **_: Any
) -> Iterator[MaterializeResult[None]]:
    """Written all at once: handed on one by one, each table would take an opening of the file."""
    corpus, frames = context.partition_key, {table: _nothing(table) for table in tables}
    if not _are_empty(warehouse, corpus, tables):
        warehouse.write_all(corpus, frames)
    for table, frame in frames.items():
        yield MaterializeResult(
            asset_key=table.asset_key,
            metadata={**_NO_ROWS, **stored_at(warehouse.file(corpus))},
            data_version=data_version(table, frame),
        )


def _are_empty(warehouse: Warehouse, corpus: str, tables: Sequence[Table]) -> bool:
    if not warehouse.file(corpus).is_file():
        return False
    with warehouse.reading(corpus) as reader:
        return all(map(reader.is_empty, tables))


def _nothing(table: Table) -> pl.DataFrame:
    """No rows, as they are written: a vector has a length."""
    vectors = [column.name for column in table.columns if column.type == VECTOR]
    return table.empty().cast(dict.fromkeys(vectors, pl.Array(pl.Float32, 1))) if vectors else table.empty()
