"""The assets: each step of the pipeline as Dagster runs it, and the jobs of them."""

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

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.catalogue.registry import requested_with, stages, systems
from graphrag_dagster.kernel.pipeline.orchestration.asset_checks import AssetCheck
from graphrag_dagster.kernel.pipeline.orchestration.code_versions import code_version
from graphrag_dagster.kernel.pipeline.orchestration.dagster_keys import (
    CORPUS,
    FRESH,
    IO_MANAGER,
    OUTDATED,
    WITH_ALL_BELOW,
    resource_key,
)
from graphrag_dagster.kernel.pipeline.orchestration.io_manager import data_version, stored_at
from graphrag_dagster.kernel.pipeline.orchestration.step_hooks import HOOKS, retry_of
from graphrag_dagster.kernel.pipeline.publishing import code_of_tables
from graphrag_dagster.kernel.pipeline.result_display import FilePath, Markdown, Url, rows_of
from graphrag_dagster.kernel.pipeline.sql_models.loader import SqlModel, our_models
from graphrag_dagster.kernel.pipeline.step_declaration import Artifact, Made, Step, StepRun, Stored
from graphrag_dagster.kernel.pipeline.steps import INDEX_STEPS, RESULTS, STEPS, groups
from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.warehouse import WrittenTable
from graphrag_dagster.kernel.tables import VECTOR, Table

_RESOURCES = ("warehouse", "corpora", "language", "memory")
_OF_SYSTEMS = tuple(key for system in systems().values() for key in system.resources)
_QUERIES: Mapping[Table, SqlModel] = {model.table: model for model in our_models()}
_ASSETS = frozenset(table for one in STEPS for table in one.assets)
_SAMPLE_ROWS = 5
_Rows = pl.DataFrame | WrittenTable


@contextmanager
def _accepted() -> Iterator[None]:
    """Dagster 1.13 is pinned, and who runs an index can do nothing about what its authors call beta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetaWarning)
        warnings.simplefilter("ignore", PreviewWarning)
        yield


@_accepted()
def assets_of(step: Step, group: str, *, automatic: bool) -> AssetsDefinition:
    """Return the assets of a step, all made for one corpus.

    Args:
        step: what is made.
        group: that they are shown in.
        automatic: whether automation makes them again when they are outdated.
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
                **shared,
            )
        )
    # The first asset answers for the tables beside.
    checks = [AssetCheck(table, step.side_tables if not n else ()) for n, table in enumerate(step.assets)]

    # A backfill policy would say that a run is of one corpus, but tag its runs with a range of partitions.
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
        yield from _step(step, checks, context)

    return made


def _step(
    step: Step, checks: Sequence[AssetCheck], context: AssetExecutionContext
) -> Iterator[MaterializeResult[None] | AssetCheckResult]:
    """Read, make, write in one transaction, tell, check: all that a step does."""
    begin, run = monotonic(), _run_of(context)
    made: list[Made | Stored | Artifact] = []
    failure: Exception | None = None
    try:
        if _is_wanted(step, run.settings, context):
            tables = _read(step, run)
            made += [Made(table, tables[table]) for table in step.makes if table in tables]
            for one in step.run(tables, run):
                made.append(one)
            del tables
    # Whatever it is, it is raised below, when what was made before it is written.
    except Exception as error:
        failure = error
    told = {one.table: one.told for one in made if isinstance(one, Made)}
    given = {one.table: one.rows for one in made if not isinstance(one, Artifact)}
    content = _written(step, run, given, whole=failure is None)
    common = {**stored_at(run.warehouse.file(run.corpus)), "seconds": round(monotonic() - begin, 3)}
    for table in (table for table in step.assets if table in content):
        rows = content[table]
        shown = {**_described(rows), **told.get(table, {}), **_query_told(table), **common}
        yield _result(table.asset_key, shown, _version(table, rows))
    for artifact in (one for one in made if isinstance(one, Artifact)):
        yield _result(step.artifact.split("/"), {**common, **artifact.told}, artifact.version)
    if failure:
        if isinstance(failure, EndpointError) and (retry := retry_of(failure)):
            # What is on its way is paid for, and would be asked for again.
            wait(run.begun)
            raise retry from failure
        raise failure
    with run.warehouse.reading(run.corpus) as reader:
        place = CheckedPlace(reader, run.settings, run.warehouse)
        selected = context.selected_asset_check_keys
        yield from [check.result(place) for check in checks if check.key in selected]


def _written(
    step: Step, run: StepRun, content: Mapping[Table, _Rows], *, whole: bool
) -> Mapping[Table, _Rows]:
    """Write what a step has made, all of it or nothing, and return it with what its queries give.

    Where it has made all that it could, a table that it has not made is empty.
    """
    everything = dict(content)
    if whole:
        everything |= {one: _no_rows(one) for one in step.makes if not (one in content or one.sql)}
    frames = {table: rows for table, rows in everything.items() if isinstance(rows, pl.DataFrame)}
    left = set(step.makes) - set(everything) if whole else set()
    queries = {one.table: one.query for one in our_models() if one.table in left}
    if content or queries or not _are_empty(run, frames):
        everything |= run.warehouse.write_all(run.corpus, frames, queries)
    return everything


def _result(key: Sequence[str], shown: Mapping[str, Any], version: str) -> MaterializeResult[None]:
    metadata = {name: _value(one) for name, one in shown.items()}
    return MaterializeResult(asset_key=key, metadata=metadata, data_version=DataVersion(version))


def _version(table: Table, rows: _Rows) -> str:
    return rows.version if isinstance(rows, WrittenTable) else data_version(table, rows).value


def _run_of(context: AssetExecutionContext) -> StepRun:
    given = {name: getattr(context.resources, resource_key(name)) for name in _RESOURCES}
    corpus = context.partition_key
    return StepRun(
        corpus=corpus,
        run_id=context.run_id,
        settings=given["corpora"].settings(corpus),
        code_of_tables=partial(
            code_of_tables, context.instance, context.run_id, given["warehouse"], corpus, _ASSETS
        ),
        resources={key: getattr(context.resources, resource_key(key)) for key in _OF_SYSTEMS},
        **given,
    )


def _read(step: Step, run: StepRun) -> Mapping[Table, pl.DataFrame]:
    """What the step reads; of such a corpus some may not be made, and be there or not."""
    made = [table for table in step.reads if run.settings.makes(table.group)]
    tables = {table: _no_rows(table) for table in step.reads if table not in made}
    if not made:
        return tables
    with run.warehouse.reading(run.corpus) as reader:
        for table in made:
            own = table in step.makes
            tables[table] = reader.answer(table, _QUERIES[table].query) if own else reader.read(table)
    return tables


def _is_wanted(step: Step, settings: CorpusSettings, context: AssetExecutionContext) -> bool:
    """Whether any of its tables is made of such a corpus; what is not made is empty, and can be read so."""
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
    """Whether all these tables are there, without a row."""
    if not run.warehouse.file(run.corpus).is_file():
        return False
    with run.warehouse.reading(run.corpus) as reader:
        return all(map(reader.is_empty, tables))


def _no_rows(table: Table) -> pl.DataFrame:
    """No rows, as they are written: a vector has a length."""
    vectors = [column.name for column in table.columns if column.type == VECTOR]
    return table.empty().cast(dict.fromkeys(vectors, pl.Array(pl.Float32, 1))) if vectors else table.empty()


def _described(rows: _Rows) -> dict[str, Any]:
    """Row count of the partition and its first rows."""
    count, sample = (rows.rows, rows.sample) if isinstance(rows, WrittenTable) else (rows.height, rows)
    readable = sample.select(name for name, type_ in sample.schema.items() if not isinstance(type_, pl.Array))
    return {"dagster/partition_row_count": count, "sample": rows_of(readable.head(_SAMPLE_ROWS))}


def _query_told(table: Table) -> dict[str, Any]:
    """The query of a table that is made by one, and what each column is computed from."""
    if (model := _QUERIES.get(table)) is None:
        return {}
    columns = {
        column: [TableColumnDep(AssetKey(place.split(".")), name) for place, name in sources]
        for column, sources in model.lineage.items()
    }
    return {
        "dagster/column_lineage": TableColumnLineage(columns),
        "query": Markdown(f"```sql\n{model.query}\n```"),
    }


def _value(one: Any) -> Any:
    """Return what is shown as Dagster's metadata have it."""
    if isinstance(one, Markdown):
        return MetadataValue.md(one)
    if isinstance(one, Url):
        return MetadataValue.url(one)
    return MetadataValue.path(one) if isinstance(one, FilePath) else one


def _keys(made_of: Iterable[Table | str]) -> list[AssetKey]:
    return [AssetKey(one.split("/") if isinstance(one, str) else one.asset_key) for one in made_of]


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
    """Where the code is. Dagster's own way to it reads every file."""
    for model in (_QUERIES[table] for table in step.makes if table.sql):
        yield LocalFileCodeReference(file_path=str(model.file), label=model.file.name)
    code = step.run.__code__
    yield LocalFileCodeReference(file_path=code.co_filename, line_number=code.co_firstlineno)


#: The job that automation requests.
INDEX = "index"


def of_the_index() -> AssetSelection:
    """What is made of a corpus without being asked for by itself."""
    return _made_by(INDEX_STEPS)


def jobs(executor: ExecutorDefinition | None = None) -> Sequence[Any]:
    """All jobs, each over our assets of one corpus.

    Args:
        executor: carries them out; default: that of the definitions they become part of.
    """

    def job(name: str, selection: AssetSelection, description: str, **tags: str) -> Any:
        return define_asset_job(
            name, selection=selection, tags=tags, description=description, executor_def=executor
        )

    results = AssetSelection.assets(RESULTS.split("/"))
    made = [
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
    for one in (one for system in systems().values() for one in system.jobs):
        whole = [name for name in one.makes if name in stages()]
        wanted = {name for part in whole for name in requested_with(part)}
        chosen = [
            step
            for step in STEPS
            if (step.requested and not wanted.isdisjoint(_parts(step))) or step.name in {*one.makes} - wanted
        ]
        made.append(job(one.name, _made_by(chosen) | results, one.description))
    return made


def _parts(step: Step) -> Sequence[str]:
    """The stages of the catalogue whose tables, or page, a step makes."""
    return step.parts if step.assets else [step.artifact.split("/")[0]]


def _made_by(steps: Iterable[Step]) -> AssetSelection:
    # By their keys: a project may have other assets, also in groups of the same names.
    chosen = list(steps)
    keys = [table.asset_key for step in chosen for table in step.assets]
    keys += [step.artifact.split("/") for step in chosen if step.artifact]
    return AssetSelection.assets(*keys)


_GROUPS = groups()

ASSETS: Sequence[AssetsDefinition] = tuple(
    assets_of(step, _GROUPS[step.name], automatic=step in INDEX_STEPS) for step in STEPS
)
