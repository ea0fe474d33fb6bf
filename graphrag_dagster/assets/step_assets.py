"""The assets: the steps of the pipeline as Dagster runs them, and their jobs."""

import inspect
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    AssetSelection,
    BetaWarning,
    ExecutorDefinition,
    MaterializeResult,
    PreviewWarning,
    RetryRequested,
    define_asset_job,
    multi_asset,
)

from graphrag_dagster.assets.asset_checks import AssetCheck
from graphrag_dagster.assets.asset_specs import asset_specs
from graphrag_dagster.assets.step_execution import OF_SYSTEMS, RESOURCES, check_step, execute_step, run_of
from graphrag_dagster.assets.step_hooks import ESTIMATE_TAG, account, account_failed
from graphrag_dagster.errors import GraphragError, WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, requested_stages_for, stages, systems
from graphrag_dagster.kernel.catalogue.system import Job
from graphrag_dagster.kernel.pipeline.step_declaration import Step
from graphrag_dagster.kernel.pipeline.steps import RESULTS, STEPS
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.resources.dagster_keys import CORPUS, WITH_ALL_BELOW, asset_key, resource_key


def shown_steps(settings: Iterable[CorpusSettings], *, research: bool = False) -> Sequence[Step]:
    """Return the steps whose tables are assets, in order.

    Args:
        settings: those of all corpora; a step of the index that none of them makes, such as an import, has no
            assets.
        research: whether steps beyond the index are assets too.
    """
    known = list(settings)

    def is_made(step: Step) -> bool:
        return any(one.makes(part) for one in known for part in step.parts)

    return [step for step in STEPS if (research if step.requested else is_made(step))]


def assets(shown: Sequence[Step], *, previews: bool = False) -> Sequence[AssetsDefinition]:
    """Return the assets of steps, each step with those before it in the index that have none.

    Args:
        shown: the steps whose tables are assets; see :func:`shown_steps`.
        previews: whether five rows of each table are recorded.
    """
    keys = frozenset(key for step in shown for key in _asset_keys(step))
    definitions, before = list[AssetsDefinition](), list[Step]()
    for step in STEPS:
        if step in shown:
            definitions.append(assets_of(step, keys, before=before, previews=previews))
            before = []
        elif not step.requested:
            # A corpus that has begun to make it is indexed whole, even before definitions are loaded again.
            before.append(step)
    return definitions


@contextmanager
def _accepted() -> Iterator[None]:
    """Suppress beta and preview warnings: Dagster 1.13 is pinned, and users cannot act on them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BetaWarning)
        warnings.simplefilter("ignore", PreviewWarning)
        yield


@_accepted()
def assets_of(
    step: Step, shown: frozenset[AssetKey], *, before: Sequence[Step] = (), previews: bool = False
) -> AssetsDefinition:
    """Return the assets of a step, all for one corpus.

    Args:
        step: the step.
        shown: the keys of all assets.
        before: steps without assets, run before it.
        previews: whether five rows of each table are recorded.
    """
    # The first asset's check also covers the step's other tables.
    checks = [AssetCheck(table, step.side_tables if not n else ()) for n, table in enumerate(step.assets)]

    # Dagster takes no backfill policy for one run a partition. Named, it would tag the run with a range of
    # partitions instead, and the results of checks would lose theirs (1.13.27).
    @multi_asset(
        name=step.name,
        specs=[*asset_specs(step, shown, previews=previews)],
        check_specs=[check.spec() for check in checks],
        # So that a check can be run alone.
        can_subset=True,
        partitions_def=CORPUS,
        pool="llm" if any(one.asks_models for one in (*before, step)) else None,
        required_resource_keys={resource_key(name) for name in (*RESOURCES, *OF_SYSTEMS)},
        description=inspect.getdoc(step.run),
    )
    def made(context: AssetExecutionContext) -> Iterator[MaterializeResult[None] | AssetCheckResult]:
        try:
            if context.selected_asset_keys:
                if step.requested and step.asks_models:
                    _tag_estimate(step, context)
                yield from execute_step(step, before, context, previews=previews)
            blocking = []
            for result in check_step(step, checks, context):
                yield result
                if not result.passed and result.severity is AssetCheckSeverity.ERROR and result.asset_key:
                    blocking.append(f"{result.check_name} of {result.asset_key.to_user_string()}")
        except RetryRequested:
            raise
        except Exception as error:
            account_failed(context, step.name, error)
            raise
        if blocking:
            account_failed(context, step.name, WarehouseError(f"failed checks: {', '.join(blocking)}"))
        elif context.selected_asset_keys:
            account(context, step.name)

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

    run = run_of(step, context)
    try:
        places = PlanPlaces(corpora=run.corpora, warehouse=run.warehouse, memory=run.memory)
        tokens = load_target(job.estimates)(run.corpus, places).tokens
    except GraphragError:
        # The step itself says what is wrong.
        return
    estimate = " – ".join(f"{value:,.0f}" for value in (tokens.low, tokens.expected, tokens.high))
    context.instance.add_run_tags(context.run_id, {ESTIMATE_TAG: estimate})
    most = run.language.max_tokens if run.language.limited else run.default_tokens
    limits = {"tokens": most, "US$": run.language.max_usd}
    given = ", ".join(f"{name} {limit:,}" for name, limit in limits.items() if limit is not None)
    context.log.info("%s may need %s tokens; limits: %s", job.name, estimate, given or "none")


#: Name of the job that automation requests.
INDEX = "index"


def of_the_index(shown: Sequence[Step]) -> AssetSelection:
    """Return the selection of the index assets."""
    return _made_by(step for step in shown if not step.requested)


def jobs(shown: Sequence[Step], executor: ExecutorDefinition | None = None) -> Sequence[Any]:
    """Return all jobs, each over our assets of one corpus.

    Args:
        shown: the steps whose tables are assets.
        executor: executor of the jobs; default: that of the merged definitions.
    """

    def job(name: str, selection: AssetSelection, description: str, **tags: str) -> Any:
        return define_asset_job(
            name, selection=selection, tags=tags, description=description, executor_def=executor
        )

    all_jobs = [
        job(
            INDEX,
            of_the_index(shown),
            "From the corpus folder to graph, communities, reports and embeddings",
            **WITH_ALL_BELOW,
        ),
        job(
            "embed",
            of_the_index(shown),
            "Embed text units, entities and reports again, as after a change of embedder; everything else "
            "that is still valid is reused",
            **WITH_ALL_BELOW,
        ),
    ]
    if not any(step.requested for step in shown):
        return all_jobs
    results = AssetSelection.assets(asset_key(RESULTS))
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
        if (step.requested and not requested.isdisjoint(step.parts)) or step.name in {*job.makes} - requested
    ]


def _made_by(steps: Iterable[Step]) -> AssetSelection:
    # By key, because a project may have other assets in groups of the same names.
    return AssetSelection.assets(*(key for step in steps for key in _asset_keys(step)))


def _asset_keys(step: Step) -> Iterator[AssetKey]:
    return map(asset_key, step.keys)
