"""Runs a step for one corpus: reads its tables, makes others, writes them in one transaction, checks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

import polars as pl
from dagster import (
    AssetCheckResult,
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    AssetObservation,
    DataVersion,
    MaterializeResult,
    MetadataValue,
    TableRecord,
)

from graphrag_dagster.assets.asset_checks import AssetCheck
from graphrag_dagster.assets.asset_specs import QUERIES, column_lineage
from graphrag_dagster.assets.recorded_versions import code_of_tables
from graphrag_dagster.assets.step_hooks import retry_of
from graphrag_dagster.errors import CorpusError, EndpointError
from graphrag_dagster.kernel.catalogue.registry import plugin_errors, stages, systems
from graphrag_dagster.kernel.models.model_costs import RESEARCH_TOKENS
from graphrag_dagster.kernel.pipeline.garbage_collection import release_memory
from graphrag_dagster.kernel.pipeline.result_display import FilePath, Url, stored_at
from graphrag_dagster.kernel.pipeline.step_declaration import Artifact, Made, Step, StepRun
from graphrag_dagster.kernel.pipeline.steps import STEPS
from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse, WrittenTable
from graphrag_dagster.kernel.tables.table_declaration import VECTOR, Table, Tables
from graphrag_dagster.resources.dagster_keys import asset_key, resource_key
from graphrag_dagster.resources.io_manager import data_version

#: Keys of the resources that every step has.
RESOURCES = ("warehouse", "corpora", "language", "memory")
#: Those that systems add.
OF_SYSTEMS = tuple(key for system in systems().values() for key in system.resources)
_ASSETS = frozenset(table for step in STEPS for table in step.assets)
_PREVIEWED_ROWS = 5
_Rows = pl.DataFrame | WrittenTable


@dataclass(slots=True)
class _Outputs:
    """What a step has made so far: rows and artifacts, and what is shown of them."""

    made: dict[Table, _Rows] = field(default_factory=dict)
    shown: dict[Table, Mapping[str, Any]] = field(default_factory=dict)
    artifacts: list[Artifact] = field(default_factory=list)


def execute_step(
    step: Step, before: Sequence[Step], context: AssetExecutionContext, *, previews: bool
) -> Iterator[MaterializeResult[None]]:
    """Run a step and record what it made.

    Args:
        step: the step.
        before: steps without assets in these definitions, run first; they are not recorded.
        context: the context of the run.
        previews: whether to record rows of each table.

    Raises:
        RetryRequested: its model cannot be reached at the moment.
    """
    run = run_of(step, context)
    for other in before:
        _make(other, run, context)
    begin = monotonic()
    content, outputs, failure = _make(step, run, context, raising=False)
    common = {**stored_at(run.warehouse.file(run.corpus)), "seconds": round(monotonic() - begin, 3)}
    for table in (table for table in step.assets if table in content):
        rows = content[table]
        shown = {**column_lineage(table), **outputs.shown.get(table, {}), **common}
        shown["dagster/partition_row_count"] = rows.rows
        yield from _recorded(asset_key(table), shown, rows.version, context)
        if previews:
            _preview(table, rows.sample, context)
    for artifact in outputs.artifacts:
        yield from _recorded(asset_key(step.artifact), {**common, **artifact.told}, artifact.version, context)
    if failure:
        raise failure


def check_step(
    step: Step, checks: Sequence[AssetCheck], context: AssetExecutionContext
) -> Iterator[AssetCheckResult]:
    """Run those checks of the tables of a step that are selected."""
    selected = [check for check in checks if check.key in context.selected_asset_check_keys]
    if not selected:
        return
    run = run_of(step, context)
    with run.warehouse.reading(run.corpus) as reader:
        place = CheckedPlace(reader, run.settings, run.warehouse)
        yield from [check.result(place) for check in selected]


def problems_of(key: AssetKey, corpus: str) -> list[str]:
    """Return in words what the check of an asset finds; the words may quote the corpus."""
    warehouse = Warehouse()
    step = next(step for step in STEPS if key in map(asset_key, step.assets))
    table = next(table for table in step.assets if asset_key(table) == key)
    check = AssetCheck(table, step.side_tables if table == next(iter(step.assets)) else ())
    with warehouse.reading(corpus) as reader:
        place = CheckedPlace(reader, CorpusStore().settings(corpus), warehouse)
        return [problem.text for problem in check.problems(place)]


def _make(
    step: Step, run: StepRun, context: AssetExecutionContext, *, raising: bool = True
) -> tuple[dict[Table, WrittenTable], _Outputs, Exception | None]:
    """Make and write the tables of a step; return them with what is shown and why it ended early."""
    outputs = _Outputs()
    failure: Exception | None = None
    try:
        if _is_wanted(step, run.settings, context):
            with plugin_errors(f"making {step.name}"):
                _run_step(step, run, outputs)
    # Any error is raised once the tables made before it are written and recorded.
    except Exception as error:
        failure = error
        if isinstance(error, EndpointError) and (retry := retry_of(error)):
            # Pending calls are paid for, and the retry would repeat them.
            wait(run.begun)
            retry.__cause__ = error
            failure = retry
    content = _written(step, run, outputs.made, whole=failure is None)
    if failure and raising:
        raise failure
    return content, outputs, failure


def _recorded(
    key: AssetKey, shown: Mapping[str, Any], version: str, context: AssetExecutionContext
) -> Iterator[MaterializeResult[None]]:
    """Record a materialisation, also of an asset that was made because another of its step was selected."""
    metadata = {name: _value(value) for name, value in shown.items()}
    if key in context.selected_asset_keys:
        yield MaterializeResult(asset_key=key, metadata=metadata, data_version=DataVersion(version))
        return
    code = context.assets_def.code_versions_by_key.get(key)
    tags = {"dagster/data_version": version, **({"dagster/code_version": code} if code else {})}
    context.log_event(
        AssetMaterialization(key, metadata=metadata, partition=context.partition_key, tags=tags)
    )


def _preview(table: Table, sample: pl.DataFrame, context: AssetExecutionContext) -> None:
    """Record the first rows as an observation, which Dagster's deletion of a run deletes whole."""
    readable = sample.select(name for name, type_ in sample.schema.items() if not isinstance(type_, pl.Array))
    records = [
        TableRecord({name: _cell(value) for name, value in row.items()}) for row in readable.to_dicts()
    ]
    metadata = {"preview": MetadataValue.table(records)} if records else {}
    context.log_event(AssetObservation(asset_key(table), partition=context.partition_key, metadata=metadata))


def _cell(value: Any) -> str | float:
    return value if isinstance(value, int | float) else str(value)


def _value(value: Any) -> Any:
    """Return a value in the form of Dagster's metadata."""
    if isinstance(value, Url):
        return MetadataValue.url(value)
    return MetadataValue.path(value) if isinstance(value, FilePath) else value


def _run_step(
    step: Step,
    run: StepRun,
    outputs: _Outputs,
) -> None:
    """Read the inputs of a step and run it; all it has read is let go of before anything is written."""
    tables = _read(step, run)
    outputs.made |= {table: tables[table] for table in step.makes if table in tables}
    for output in step.run(tables, run):
        if isinstance(output, Artifact):
            outputs.artifacts.append(output)
        else:
            outputs.made[output.table] = output.rows
            if isinstance(output, Made):
                outputs.shown[output.table] = output.told
    run.begun.clear()
    tables.clear()
    release_memory()


def _written(step: Step, run: StepRun, made: dict[Table, _Rows], *, whole: bool) -> dict[Table, WrittenTable]:
    """Write the tables of a step, all or nothing, and return what is shown of its assets.

    After a successful step, tables it has not made are written empty. ``made`` is emptied, so that what is
    written takes no memory any more.
    """
    anything = bool(made)
    if whole:
        made |= {table: _no_rows(table) for table in step.makes if not (table in made or table.sql)}
    unmade = set(step.makes) - set(made) if whole else set()
    queries = {model.table: model.query for model in QUERIES.values() if model.table in unmade}
    stored = {table: rows for table, rows in made.items() if isinstance(rows, WrittenTable)}
    frames = {table: rows for table, rows in made.items() if isinstance(rows, pl.DataFrame)}
    made.clear()

    def seen(table: Table, rows: pl.DataFrame) -> None:
        if table in step.assets:
            version = data_version(table, rows).value
            stored[table] = WrittenTable(rows.height, rows.head(_PREVIEWED_ROWS), version)

    if anything or queries or not _are_empty(run, frames):
        run.warehouse.write_all(run.corpus, frames, queries, seen)
    else:
        for table, rows in frames.items():
            seen(table, rows)
    return stored


def run_of(step: Step, context: AssetExecutionContext) -> StepRun:
    """Return what a step is given: the corpus of the run's partition, its settings and the resources.

    Raises:
        CorpusError: the run is of no corpus, of several, or of one without a folder.
        SettingsError: the settings of the corpus are invalid.
    """
    resources = {name: getattr(context.resources, resource_key(name)) for name in RESOURCES}
    if context.has_partition_key_range and len(context.partition_keys) > 1:
        raise CorpusError(
            f"a run makes one corpus, and this one was launched for {', '.join(context.partition_keys)}; "
            "launch a backfill of them, which makes a run for each"
        )
    corpora, known = resources["corpora"], resources["corpora"].names()
    if not context.has_partition_key:
        raise CorpusError(
            "this run has no partition, so it is of no corpus; launch it with --partition and the name of "
            f"one: {', '.join(known) or 'there is none yet'}"
        )
    corpus = context.partition_key
    if corpus not in known:
        raise CorpusError(
            f"the partition {corpus!r} has no folder of documents in {corpora.path.resolve()}, where there "
            f"are: {', '.join(known) or 'none yet'}. Put its folder there, or delete the partition"
        )
    settings = corpora.settings(corpus)
    # The application that declares the section may not be installed.
    evaluation = getattr(settings, "evaluation", None)
    return StepRun(
        corpus=corpus,
        run_id=context.run_id,
        settings=settings,
        default_tokens=getattr(evaluation, "max_tokens", RESEARCH_TOKENS) if step.requested else None,
        code_of_tables=partial(
            code_of_tables, context.instance, context.run_id, resources["warehouse"], corpus, _ASSETS
        ),
        queries={table: model.query for table, model in QUERIES.items()},
        resources={key: getattr(context.resources, resource_key(key)) for key in OF_SYSTEMS},
        **resources,
    )


def _read(step: Step, run: StepRun) -> Tables:
    """Read the inputs of the step; tables of stages that do not run for this corpus are empty."""
    existing = [table for table in step.reads if run.settings.makes(table.group)]
    tables = {table: _no_rows(table) for table in step.reads if table not in existing}
    if not existing:
        return tables
    with run.warehouse.reading(run.corpus) as reader:
        for table in existing:
            if table in step.makes:
                model = QUERIES[table]
                tables[table] = reader.answer(table, model.query, model.buckets(reader))
            else:
                tables[table] = reader.read(table, step.columns.get(table, ()))
    return tables


def _is_wanted(step: Step, settings: CorpusSettings, context: AssetExecutionContext) -> bool:
    """Whether any stage of the step runs for this corpus; the others leave their tables empty."""
    unmade = [part for part in step.parts if not settings.makes(part)]
    for part in map(stages().__getitem__, unmade):
        why = (
            f"{part.switch}.enabled is off"
            if settings.kind in part.kinds
            else f"not for corpora of kind {settings.kind}"
        )
        context.log.info(f"{part.name}: {why}: nothing is made")
    return not unmade or len(unmade) < len(step.parts)


def _are_empty(run: StepRun, tables: Iterable[Table]) -> bool:
    """Whether all these tables exist and are empty."""
    if not run.warehouse.file(run.corpus).is_file():
        return False
    with run.warehouse.reading(run.corpus) as reader:
        return all(map(reader.is_empty, tables))


def _no_rows(table: Table) -> pl.DataFrame:
    """Return an empty frame that can be written: vectors have a fixed length."""
    vectors = [column.name for column in table.columns if column.type == VECTOR]
    return table.empty().cast(dict.fromkeys(vectors, pl.Array(pl.Float32, 1))) if vectors else table.empty()
