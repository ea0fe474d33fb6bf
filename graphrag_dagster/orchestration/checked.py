"""Checks that run in the step that makes their tables: a step costs more than most of them."""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any

from dagster import AssetCheckResult, AssetCheckSpec, AssetExecutionContext

from graphrag_dagster.orchestration.table_checks import CHECKS, CheckedPlace, TableCheck
from graphrag_dagster.orchestration.widened import Widened
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import Table


def check_specs(tables: Sequence[Table]) -> list[AssetCheckSpec]:
    """What Dagster is told of the checks of tables."""
    return [check.spec() for check in _checks_of(tables)]


def checked(function: Callable[..., Any], *tables: Table) -> Callable[..., Any]:
    """Have a function or generator end with the checks of its tables, when all of them are written.

    Where one that blocks fails, Dagster lets the step fail: the tables are there to be looked at, and nothing
    is built upon them.

    Args:
        function: makes the tables of a corpus; gives one result, or several.
        tables: all that it makes.
    """
    if not (checks := _checks_of(tables)):
        return function
    needed = {"context": AssetExecutionContext, "warehouse": Warehouse, "corpora": CorpusStore}
    widened = Widened(function, needed)

    @wraps(function)
    def generate(*arguments: Any, **named: Any) -> Iterator[Any]:
        everything, own = widened.split(arguments, named)
        if isgeneratorfunction(function):
            yield from function(**own)
        else:
            yield function(**own)
        yield from _results(checks, **{name: everything[name] for name in needed})

    return widened.signed(generate)


def _checks_of(tables: Sequence[Table]) -> list[TableCheck]:
    return [check for check in CHECKS if check.table in tables]


def _results(
    checks: Sequence[TableCheck], context: AssetExecutionContext, warehouse: Warehouse, corpora: CorpusStore
) -> list[AssetCheckResult]:
    selected = context.selected_asset_check_keys
    wanted = [check for check in checks if check.key in selected]
    with warehouse.reading(context.partition_key) as reader:
        settings = corpora.settings(context.partition_key)
        place = CheckedPlace(reader, settings, warehouse, {check.table for check in wanted})
        return [check.result(place) for check in wanted]
