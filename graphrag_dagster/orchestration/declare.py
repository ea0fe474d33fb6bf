"""How a declared table becomes an asset: key, group, column schema, versions, condition, hooks, metadata."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction, unwrap
from pathlib import Path
from time import monotonic
from typing import Any

import polars as pl
from dagster import (
    AssetCheckResult,
    AssetIn,
    AssetKey,
    AssetOut,
    AssetsDefinition,
    BetaWarning,
    CodeReferencesMetadataValue,
    HookDefinition,
    LocalFileCodeReference,
    MaterializeResult,
    MetadataValue,
    Output,
    TableColumn,
    TableColumnConstraints,
    TableConstraints,
    TableSchema,
    asset,
    multi_asset,
)

from graphrag_dagster.core.printable import printable
from graphrag_dagster.errors import EndpointError
from graphrag_dagster.orchestration.checked import check_specs, checked
from graphrag_dagster.orchestration.conditions import condition_of
from graphrag_dagster.orchestration.data_versions import data_version
from graphrag_dagster.orchestration.hooks import HOOKS
from graphrag_dagster.orchestration.leaving_out import made_where_wanted
from graphrag_dagster.orchestration.partitions import CORPUS
from graphrag_dagster.orchestration.resource_keys import IO_MANAGER, takes_resources
from graphrag_dagster.orchestration.retrying import retry_of
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.orchestration.written_together import written_together
from graphrag_dagster.tables import Table

#: A step makes things of one corpus. A backfill policy would say that too, but its runs have the tags of a
#: range of partitions; without one, a backfill makes runs of one partition, as a job does.
_OF_A_CORPUS: Mapping[str, Any] = {"partitions_def": CORPUS}
_SAMPLE_ROWS = 5
_CELL = 60


@contextmanager
def _beta_accepted() -> Iterator[None]:
    """Dagster 1.13 is pinned, and who runs an index can do nothing about what its authors call beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetaWarning)
        yield


def key_of(table: Table) -> AssetKey:
    """The asset key ``[schema, table]``."""
    return AssetKey(table.asset_key)


def ins_of(*tables: Table, **named: Table) -> Mapping[str, AssetIn]:
    """Inputs named like the tables, or as given by keyword, read as frames."""
    by_name = {table.name: table for table in tables} | named
    return {name: AssetIn(key=key_of(table)) for name, table in by_name.items()}


def column_schema(table: Table) -> TableSchema:
    """The columns as Dagster shows them."""
    columns = [TableColumn("corpus", "VARCHAR", "The corpus", TableColumnConstraints(nullable=False))]
    for column in table.columns:
        constraints = TableColumnConstraints(
            nullable=column.nullable,
            unique=table.key == (column.name,),
            other=[f"one of {', '.join(column.values)}"] if column.values else None,
        )
        columns.append(TableColumn(column.name, column.type, column.meaning, constraints))
    return TableSchema(columns, TableConstraints([f"key: corpus, {', '.join(table.key)}"]))


def corpus_asset(
    *tables: Table, metadata: Mapping[str, Any] | None = None, sources: Sequence[Path] = (), **options: Any
) -> Callable[[Callable[..., Any]], AssetsDefinition]:
    """Decorate the function that makes something of a corpus.

    Args:
        tables: the table that it gives, if it gives one.
        metadata: of the definition.
        sources: files beside the function that say what is made.
        options: those of ``asset``.
    """

    def decorate(function: Callable[..., Any]) -> AssetsDefinition:
        with _beta_accepted():
            made: AssetsDefinition = asset(
                io_manager_key=IO_MANAGER,
                metadata={**(metadata or {}), **_code(function, sources)},
                check_specs=check_specs(tables),
                hooks=HOOKS,
                **_OF_A_CORPUS,
                **options,
            )(_making(function, tables))
        return made

    return decorate


def table_asset(table: Table, **options: Any) -> Callable[[Callable[..., Any]], AssetsDefinition]:
    """Decorate the function that makes a table of a corpus.

    Args:
        table: that it makes.
        options: those of :func:`corpus_asset`.
    """
    return corpus_asset(table, metadata=_metadata(table), **_declared(table), **options)


def table_assets(
    tables: Sequence[Table],
    *,
    hooks: Iterable[HookDefinition] = (),
    **options: Any,
) -> Callable[[Callable[..., Any]], AssetsDefinition]:
    """Decorate the generator that makes several tables of a corpus at once.

    Args:
        tables: in the order in which the generator yields them.
        hooks: called beside those of all steps.
        options: those of ``multi_asset``.
    """

    def decorate(function: Callable[..., Any]) -> AssetsDefinition:
        with _beta_accepted():
            outs = {
                table.name: AssetOut(
                    io_manager_key=IO_MANAGER,
                    metadata={**_metadata(table), **_code(function)},
                    **_declared(table),
                    description=table.meaning,
                )
                for table in tables
            }
            made: AssetsDefinition = multi_asset(
                outs=outs,
                check_specs=check_specs(tables),
                hooks={*HOOKS, *hooks},
                **_OF_A_CORPUS,
                **options,
            )(_making(function, tables))
        return made

    return decorate


def _making(function: Callable[..., Any], tables: Sequence[Table]) -> Callable[..., Any]:
    """What Dagster calls: the function, where it is wanted, what writes its tables, and their checks."""
    wanted = made_where_wanted(function, *tables)
    return timed(takes_resources(checked(written_together(wanted, *tables), *tables)), *tables)


def timed(function: Callable[..., Any], *tables: Table) -> Callable[..., Any]:
    """Add to every result of a function or generator its seconds, and its data version where it is a table.

    An endpoint that does not answer makes the step wait and try again
    (:func:`graphrag_dagster.orchestration.retrying.retry_of`).
    """

    @wraps(function)
    def run(*arguments: Any, **named: Any) -> Any:
        begin = monotonic()
        try:
            return _completed(function(*arguments, **named), begin, tables)
        except EndpointError as error:
            if (retry := retry_of(error)) is None:
                raise
            raise retry from error

    @wraps(function)
    def generate(*arguments: Any, **named: Any) -> Iterator[Any]:
        begin = monotonic()
        try:
            for made in function(*arguments, **named):
                yield _completed(made, begin, tables)
        except EndpointError as error:
            if (retry := retry_of(error)) is None:
                raise
            raise retry from error

    # Dagster reads off the function itself whether it gives one result or several.
    return generate if isgeneratorfunction(function) else run


def _declared(table: Table) -> dict[str, Any]:
    return {
        "key": key_of(table),
        "group_name": table.group,
        "code_version": code_version(table.group),
        "automation_condition": condition_of(table.group),
        "kinds": {"duckdb", "sql"} if table.sql else {"duckdb", "polars"},
    }


def _metadata(table: Table) -> dict[str, Any]:
    return {
        "dagster/column_schema": column_schema(table),
        "dagster/table_name": table.full_name,
        "dagster/storage_kind": "duckdb",
    }


def _code(function: Callable[..., Any], sources: Sequence[Path] = ()) -> dict[str, Any]:
    """Where the code is, as metadata. Dagster's own way to it reads every file and makes each asset twice."""
    code = unwrap(function).__code__
    files = [LocalFileCodeReference(file_path=str(source), label=source.name) for source in sources]
    files.append(LocalFileCodeReference(file_path=code.co_filename, line_number=code.co_firstlineno))
    return {"dagster/code_references": CodeReferencesMetadataValue(code_references=[*files])}


def _completed(made: Any, begin: float, tables: Sequence[Table]) -> Any:
    if isinstance(made, AssetCheckResult):
        return made
    if isinstance(made, MaterializeResult):
        return made._replace(metadata={**(made.metadata or {}), "seconds": round(monotonic() - begin, 3)})
    by_name = {table.name: table for table in tables} if len(tables) > 1 else {made.output_name: tables[0]}
    version = data_version(by_name[made.output_name], made.value)
    metadata = {**(made.metadata or {}), "seconds": round(monotonic() - begin, 3)}
    with _beta_accepted():
        return Output(made.value, output_name=made.output_name, metadata=metadata, data_version=version)


def output(table: Table, frame: pl.DataFrame, **metadata: Any) -> Output[pl.DataFrame]:
    """The frame as an output named like its table, with row count, sample and the given metadata."""
    return Output(frame, output_name=table.name, metadata={**describe(frame), **metadata})


def result(frame: pl.DataFrame, **metadata: Any) -> Output[pl.DataFrame]:
    """The frame as the only output of an asset, with row count, sample and the given metadata."""
    return Output(frame, metadata={**describe(frame), **metadata})


def describe(frame: pl.DataFrame, rows: int | None = None) -> dict[str, Any]:
    """Row count of the partition and its first rows; ``rows`` is the count where the frame is a sample."""
    return {
        "dagster/partition_row_count": frame.height if rows is None else rows,
        "sample": MetadataValue.md(markdown(frame.head(_SAMPLE_ROWS))),
    }


def markdown(frame: pl.DataFrame) -> str:
    """The frame as a Markdown table with shortened cells."""
    lines = [_row(frame.columns), _row("---" for _ in frame.columns)]
    lines += [_row(_cell(value) for value in row) for row in frame.iter_rows()]
    return "\n".join(lines)


def quoted(text: str) -> str:
    """Return words of documents as code in a table: no link, picture or HTML comes of them."""
    shown = printable(text).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}" if shown.strip() else ""


def counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    """How often each value of the column occurs, sorted by value."""
    return dict(frame.group_by(column).len().sort(column).iter_rows())


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    cut = text if len(text) <= _CELL else text[: _CELL - 1] + "…"
    return cut if isinstance(value, bool | int | float) else quoted(cut)
