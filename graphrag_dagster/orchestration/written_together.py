"""Tables of one step are written in one transaction, and nothing of them is held for Dagster.

Each of its own would open the file and wait for the disk.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any

import polars as pl
from dagster import AssetExecutionContext, MaterializeResult, Output

from graphrag_dagster.orchestration.data_versions import data_version
from graphrag_dagster.orchestration.io_manager import stored_at
from graphrag_dagster.orchestration.widened import Widened
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import Table


def written_together(function: Callable[..., Any], *tables: Table) -> Callable[..., Any]:
    """Have all frames that a generator gives written when it ends, and only then told.

    Where it fails, what it gave before is written and told all the same.

    Args:
        function: makes the tables of a corpus; one that gives a single result has that written.
        tables: all that it makes.
    """
    needed = {"context": AssetExecutionContext, "warehouse": Warehouse}
    widened = Widened(function, needed)
    by_name = {table.name: table for table in tables}

    @wraps(function)
    def generate(*arguments: Any, **named: Any) -> Iterator[Any]:
        everything, own = widened.split(arguments, named)
        place = everything["warehouse"], everything["context"].partition_key
        frames: list[Output[pl.DataFrame]] = []
        try:
            for made in function(**own):
                if isinstance(made, Output):
                    frames.append(made)
                else:
                    yield made
        except Exception:
            yield from _written(*place, by_name, frames)
            raise
        yield from _written(*place, by_name, frames)

    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        everything, own = widened.split(arguments, named)
        made = function(**own)
        if not isinstance(made, Output):
            return made
        place = everything["warehouse"], everything["context"].partition_key
        return next(_written(*place, {made.output_name: tables[0]}, [made]))

    return widened.signed(generate if isgeneratorfunction(function) else run)


def _written(
    warehouse: Warehouse, corpus: str, by_name: dict[str, Table], frames: Iterable[Output[pl.DataFrame]]
) -> Iterator[MaterializeResult[None]]:
    made = {by_name[one.output_name]: one for one in frames}
    if made:
        warehouse.write_all(corpus, {table: one.value for table, one in made.items()})
    for table, one in made.items():
        yield MaterializeResult(
            asset_key=table.asset_key,
            metadata={**one.metadata, **stored_at(warehouse.file(corpus))},
            data_version=data_version(table, one.value),
        )
