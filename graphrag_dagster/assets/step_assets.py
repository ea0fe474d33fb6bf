"""The assets: the steps of the pipeline as Dagster runs them, and their jobs."""

import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any

import polars as pl
from dagster import (
    AssetCheckResult,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    AssetSelection,
    AssetSpec,
    BetaWarning,
    CodeReferencesMetadataValue,
    DataVersion,
    ExecutorDefinition,
    LocalFileCodeReference,
    MaterializeResult,
    MetadataValue,
    PreviewWarning,
    TableColumn,
    TableColumnConstraints,
    TableColumnDep,
    TableColumnLineage,
    TableConstraints,
    TableSchema,
    define_asset_job,
    multi_asset,
)

from graphrag_dagster.assets.asset_checks import AssetCheck, BoundsCheck
from graphrag_dagster.assets.recorded_versions import code_of_tables
from graphrag_dagster.assets.step_hooks import ESTIMATE_TAG, HOOKS, retry_of
from graphrag_dagster.dbt_like_sql.loader import SqlModel, our_models
from graphrag_dagster.errors import CorpusError, EndpointError, GraphragError
from graphrag_dagster.kernel.catalogue.registry import load_target, requested_stages_for, stages, systems
from graphrag_dagster.kernel.catalogue.system import Job
from graphrag_dagster.kernel.models.model_costs import RESEARCH_TOKENS
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.garbage_collection import release_memory
from graphrag_dagster.kernel.pipeline.result_display import FilePath, Markdown, Url, rows_of, stored_at
from graphrag_dagster.kernel.pipeline.step_declaration import Artifact, Made, Step, StepRun
from graphrag_dagster.kernel.pipeline.steps import INDEX_STEPS, RESULTS, STEPS, groups
from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace, bounds_rules
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.warehouse import WrittenTable
from graphrag_dagster.kernel.tables.table_declaration import VECTOR, Table, Tables
from graphrag_dagster.resources.dagster_keys import (
    CORPUS,
    FRESH,
    IMPLICIT_JOB,
    IO_MANAGER,
    OUTDATED,
    WITH_ALL_BELOW,
    resource_key,
)
from graphrag_dagster.resources.io_manager import data_version

_RESOURCES = ("warehouse", "corpora", "language", "memory")
_OF_SYSTEMS = tuple(key for system in systems().values() for key in system.resources)
_QUERIES: Mapping[Table, SqlModel] = {model.table: model for model in our_models()}
_ASSETS = frozenset(table for step in STEPS for table in step.assets)
_SAMPLE_ROWS = 5
_Rows = pl.DataFrame | WrittenTable


@contextmanager
def _accepted() -> Iterator[None]:
    """Suppress beta and preview warnings: Dagster 1.13 is pinned, and users cannot act on them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetaWarning)
        warnings.simplefilter("ignore", PreviewWarning)
        yield


@_accepted()
def assets_of(step: Step, group: str, *, automatic: bool) -> AssetsDefinition:
    """Return the assets of a step, all for one corpus.

    Args:
        step: the step.
        group: their asset group.
        automatic: whether automation makes them again when outdated.
    """
    condition = OUTDATED if automatic else None
    shared: dict[str, Any] = {"group_name": group, "automation_condition": condition}
    code = {"dagster/code_references": CodeReferencesMetadataValue(code_references=[*_code(step)])}
    specs = [
        AssetSpec(
            table.asset_key,
            deps=_keys(made_of),
            description=_description(table),
            metadata={**_declared(table), **code},
            kinds={"duckdb", "sql"} if table.sql else {"duckdb", "polars"},
            code_version=code_version(table.group),
            skippable=step.requested,
            **shared,
        ).with_io_manager_key(IO_MANAGER)
        for table, made_of in step.assets.items()
    ]
    if step.artifact:
        specs.append(
            AssetSpec(
                step.artifact.split("/"),
                deps=_keys(step.made_of),
                description=inspect.getdoc(step.run),
                metadata=code,
                kinds={"html"} if step.artifact.endswith("report") else {"duckdb"},
                code_version=code_version(step.artifact.split("/")[0]),
                freshness_policy=FRESH if automatic else None,
                skippable=step.requested,
                **shared,
            )
        )
    checks: list[AssetCheck | BoundsCheck] = [
        # The first asset's check also covers the step's other tables.
        *(AssetCheck(table, step.side_tables if not n else ()) for n, table in enumerate(step.assets)),
        *(BoundsCheck(rule) for rule in bounds_rules() if rule.table in step.assets),
    ]

    # Dagster takes no backfill policy for one run a partition. Named, it would tag the run with a range of
    # partitions instead, and the results of checks would lose theirs (1.13.27).
    @multi_asset(
        name=step.name,
        specs=specs,
        check_specs=[check.spec() for check in checks],
        partitions_def=CORPUS,
        pool="llm" if step.asks_models else None,
        hooks=HOOKS,
        required_resource_keys={resource_key(name) for name in (*_RESOURCES, *_OF_SYSTEMS)},
        description=inspect.getdoc(step.run),
    )
    def made(context: AssetExecutionContext) -> Iterator[MaterializeResult[None] | AssetCheckResult]:
        if step.requested and (reason := _not_asked_for(context)):
            context.log.warning("%s: nothing is made: %s", step.name, reason)
            yield from _checked(step, checks, context, _run_of(step, context), unmade=reason)
            return
        if step.requested and step.asks_models:
            _tag_estimate(step, context)
        yield from _step(step, checks, context)

    return made


def _tag_estimate(step: Step, context: AssetExecutionContext) -> None:
    """Tag a run, once, with the tokens that what it is part of may ask of models, and log them."""
    declared = [job for system in systems().values() for job in system.jobs if job.estimates]
    job = next(
        (job for job in declared if job.name == context.run.job_name),
        next((job for job in declared if step in _requested(job)), None),
    )
    record = context.instance.get_run_record_by_id(context.run_id)
    if job is None or record is None or ESTIMATE_TAG in record.dagster_run.tags:
        return
    # Imported here because an index estimates nothing.
    from graphrag_dagster.kernel.models.plan_inputs import PlanPlaces

    run = _run_of(step, context)
    try:
        places = PlanPlaces(corpora=run.corpora, warehouse=run.warehouse, memory=run.memory)
        tokens = load_target(job.estimates)(run.corpus, places).tokens
    except GraphragError:
        # The step itself says what is wrong.
        return
    told = " – ".join(f"{value:,.0f}" for value in (tokens.low, tokens.expected, tokens.high))
    context.instance.add_run_tags(context.run_id, {ESTIMATE_TAG: told})
    limits = (run.language.max_tokens, run.language.max_usd, run.default_tokens)
    context.log.info(
        "%s may ask models for %s tokens; limits (tokens, US$, default): %s", job.name, told, limits
    )


def _not_asked_for(context: AssetExecutionContext) -> str | None:
    """Why a step beyond the index makes nothing: its run materialises whatever there is, without a limit."""
    run = context.run
    if run.job_name != IMPLICIT_JOB or (run.asset_selection and run.asset_selection.isdisjoint(_INDEX_KEYS)):
        return None
    resources: Any = run.run_config.get("resources", {})
    given = resources.get(resource_key("language"), {}).get("config", {})
    if given.get("max_tokens") is not None or given.get("max_usd") is not None:
        return None
    return (
        "materialising everything makes the index alone, since what is beyond it may ask a model for much; "
        "launch its job, or materialise it without assets of the index, or set "
        f"resources.{resource_key('language')}.config.max_tokens of the run"
    )


def _step(
    step: Step, checks: Sequence[AssetCheck | BoundsCheck], context: AssetExecutionContext
) -> Iterator[MaterializeResult[None] | AssetCheckResult]:
    """Run a step: read its inputs, make the tables, write them in one transaction, report and check."""
    begin, run = monotonic(), _run_of(step, context)
    made: dict[Table, _Rows] = {}
    told: dict[Table, Mapping[str, Any]] = {}
    artifacts: list[Artifact] = []
    failure: Exception | None = None
    try:
        if _is_wanted(step, run.settings, context):
            _run_step(step, run, made, told, artifacts)
    # Any error is raised below, after the tables made before it are written.
    except Exception as error:
        failure = error
    content = _written(step, run, made, whole=failure is None)
    common = {**stored_at(run.warehouse.file(run.corpus)), "seconds": round(monotonic() - begin, 3)}
    for table in (table for table in step.assets if table in content):
        rows = content[table]
        shown = {**_described(rows), **told.get(table, {}), **_query_told(table), **common}
        yield _result(table.asset_key, shown, rows.version)
    for artifact in artifacts:
        yield _result(step.artifact.split("/"), {**common, **artifact.told}, artifact.version)
    if failure:
        if isinstance(failure, EndpointError) and (retry := retry_of(failure)):
            # Pending calls are paid for, and the retry would repeat them.
            wait(run.begun)
            raise retry from failure
        raise failure
    yield from _checked(step, checks, context, run)


def _checked(
    step: Step,
    checks: Sequence[AssetCheck | BoundsCheck],
    context: AssetExecutionContext,
    run: StepRun,
    unmade: str = "",
) -> Iterator[AssetCheckResult]:
    """Check the tables of a step as they are; where nothing was ever made, ``unmade`` says why.

    Dagster wants a result of every check that is selected.
    """
    selected = [check for check in checks if check.key in context.selected_asset_check_keys]
    if unmade and not all(run.warehouse.exists(table, run.corpus) for table in step.makes):
        for key in (check.key for check in selected):
            yield AssetCheckResult(
                check_name=key.name, asset_key=key.asset_key, passed=True, description=unmade
            )
        return
    with run.warehouse.reading(run.corpus) as reader:
        checked = CheckedPlace(reader, run.settings, run.warehouse)
        yield from [check.result(checked) for check in selected]


def _run_step(
    step: Step,
    run: StepRun,
    made: dict[Table, _Rows],
    told: dict[Table, Mapping[str, Any]],
    artifacts: list[Artifact],
) -> None:
    """Read the inputs of a step and run it; all it has read is let go of before anything is written."""
    tables = _read(step, run)
    made |= {table: tables[table] for table in step.makes if table in tables}
    for output in step.run(tables, run):
        if isinstance(output, Artifact):
            artifacts.append(output)
        else:
            made[output.table] = output.rows
            if isinstance(output, Made):
                told[output.table] = output.told
    run.begun.clear()
    tables.clear()
    release_memory()


def _written(step: Step, run: StepRun, made: dict[Table, _Rows], *, whole: bool) -> dict[Table, WrittenTable]:
    """Write the tables of a step, all or nothing, and return what is told of its assets.

    After a successful step, tables it has not made are written empty. ``made`` is emptied, so that what is
    written takes no memory any more.
    """
    anything = bool(made)
    if whole:
        made |= {table: _no_rows(table) for table in step.makes if not (table in made or table.sql)}
    unmade = set(step.makes) - set(made) if whole else set()
    queries = {model.table: model.query for model in our_models() if model.table in unmade}
    stored = {table: rows for table, rows in made.items() if isinstance(rows, WrittenTable)}
    frames = {table: rows for table, rows in made.items() if isinstance(rows, pl.DataFrame)}
    made.clear()

    def seen(table: Table, rows: pl.DataFrame) -> None:
        if table in step.assets:
            version = data_version(table, rows).value
            stored[table] = WrittenTable(rows.height, rows.head(_SAMPLE_ROWS), version)

    if anything or queries or not _are_empty(run, frames):
        run.warehouse.write_all(run.corpus, frames, queries, seen)
    else:
        for table, rows in frames.items():
            seen(table, rows)
    return stored


def _result(key: Sequence[str], shown: Mapping[str, Any], version: str) -> MaterializeResult[None]:
    metadata = {name: _value(value) for name, value in shown.items()}
    return MaterializeResult(asset_key=key, metadata=metadata, data_version=DataVersion(version))


def _run_of(step: Step, context: AssetExecutionContext) -> StepRun:
    resources = {name: getattr(context.resources, resource_key(name)) for name in _RESOURCES}
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
        queries={table: model.query for table, model in _QUERIES.items()},
        resources={key: getattr(context.resources, resource_key(key)) for key in _OF_SYSTEMS},
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
                model = _QUERIES[table]
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


def _described(rows: WrittenTable) -> dict[str, Any]:
    """Return the row count of the partition and the first rows."""
    types = rows.sample.schema.items()
    readable = rows.sample.select(name for name, type_ in types if not isinstance(type_, pl.Array))
    return {"dagster/partition_row_count": rows.rows, "sample": rows_of(readable.head(_SAMPLE_ROWS))}


def _query_told(table: Table) -> dict[str, Any]:
    """Return the query of a SQL table and its column lineage."""
    if (model := _QUERIES.get(table)) is None:
        return {}
    columns = {
        column: [TableColumnDep(AssetKey(source.split(".")), name) for source, name in sources]
        for column, sources in model.lineage.items()
    }
    return {
        "dagster/column_lineage": TableColumnLineage(columns),
        "query": Markdown(f"```sql\n{model.query}\n```"),
    }


def _value(value: Any) -> Any:
    """Return a value in the form of Dagster's metadata."""
    if isinstance(value, Markdown):
        return MetadataValue.md(value)
    if isinstance(value, Url):
        return MetadataValue.url(value)
    return MetadataValue.path(value) if isinstance(value, FilePath) else value


def _keys(made_of: Iterable[Table | str]) -> list[AssetKey]:
    return [AssetKey(key.split("/") if isinstance(key, str) else key.asset_key) for key in made_of]


def _description(table: Table) -> str:
    if not table.sql:
        return table.meaning
    lines = [table.meaning, "", "| column | computed from |", "| --- | --- |"]
    for column, sources in _QUERIES[table].lineage.items():
        lines.append(f"| {column} | {', '.join(f'{s}.{c}' for s, c in sources) or 'row counts'} |")
    return "\n".join(lines)


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


def _code(step: Step) -> Iterator[LocalFileCodeReference]:
    """Yield the locations of the code; Dagster's own helper reads every file."""
    for model in (_QUERIES[table] for table in step.makes if table.sql):
        yield LocalFileCodeReference(file_path=str(model.file), label=model.file.name)
    code = step.run.__code__
    yield LocalFileCodeReference(file_path=code.co_filename, line_number=code.co_firstlineno)


#: Name of the job that automation requests.
INDEX = "index"


def of_the_index() -> AssetSelection:
    """Return the selection of the index assets."""
    return _made_by(INDEX_STEPS)


def jobs(executor: ExecutorDefinition | None = None) -> Sequence[Any]:
    """Return all jobs, each over our assets of one corpus.

    Args:
        executor: executor of the jobs; default: that of the merged definitions.
    """

    def job(name: str, selection: AssetSelection, description: str, **tags: str) -> Any:
        return define_asset_job(
            name, selection=selection, tags=tags, description=description, executor_def=executor
        )

    results = AssetSelection.assets(RESULTS.split("/"))
    all_jobs = [
        job(
            INDEX,
            of_the_index(),
            "From the corpus folder to graph, communities, reports and embeddings",
            **WITH_ALL_BELOW,
        ),
        job(
            "embed",
            of_the_index(),
            "Embed text units, entities and reports again, as after a change of embedder; what else still "
            "holds is taken over",
            **WITH_ALL_BELOW,
        ),
    ]
    for declared in (declared for system in systems().values() for declared in system.jobs):
        all_jobs.append(job(declared.name, _made_by(_requested(declared)) | results, declared.description))
    return all_jobs


def _requested(job: Job) -> list[Step]:
    """Return the steps that a job of a system makes, without that which publishes them."""
    whole = [name for name in job.makes if name in stages()]
    requested = {name for part in whole for name in requested_stages_for(part)}
    return [
        step
        for step in STEPS
        if (step.requested and not requested.isdisjoint(_parts(step)))
        or step.name in {*job.makes} - requested
    ]


def _parts(step: Step) -> Sequence[str]:
    """Return the catalogue stages whose tables or page a step makes."""
    return step.parts if step.assets else [step.artifact.split("/")[0]]


def _made_by(steps: Iterable[Step]) -> AssetSelection:
    # By key, because a project may have other assets in groups of the same names.
    return AssetSelection.assets(*(key for step in steps for key in _asset_keys(step)))


def _asset_keys(step: Step) -> Iterator[Sequence[str]]:
    yield from (table.asset_key for table in step.assets)
    if step.artifact:
        yield step.artifact.split("/")


_GROUPS = groups()
_INDEX_KEYS = frozenset(AssetKey(key) for step in INDEX_STEPS for key in _asset_keys(step))

ASSETS: Sequence[AssetsDefinition] = tuple(
    assets_of(step, _GROUPS[step.name], automatic=step in INDEX_STEPS) for step in STEPS
)
