"""Publishes the tables as read-only copies that no run touches."""

from collections.abc import Iterator
from typing import Any

from graphrag_dagster.dbt_like_sql.loader import our_models
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import all_tables, loaded, systems
from graphrag_dagster.kernel.models.accounting.use import ModelUse
from graphrag_dagster.kernel.pipeline.step import Artifact, Made, StepRun, Tables
from graphrag_dagster.kernel.pipeline.updates.publication import publish_index, publish_results
from graphrag_dagster.kernel.storage.published import RESULTS, Accounts, Origin
from graphrag_dagster.kernel.tables import MODEL_USAGE
from graphrag_dagster.kernel.tasks.session import shown_use

_INDEX = tuple(table for table in all_tables() if table not in {*RESULTS, *tables.ACCOUNTS})
_RUN_USAGE = next(model.query for model in our_models() if model.table == tables.RUN_USAGE)


def published_snapshot(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, those of the index as they are now, copied once all checks have passed."""
    account, told = _account(run)
    yield account
    made = publish_index(run.warehouse, run.corpus, _origin(run), _INDEX, run.memory.database())
    shown: dict[str, Any] = {}
    for system in systems().values():
        if system.shown:
            shown |= loaded(system.shown)(run.corpus, run.warehouse, run.corpora)
    yield Artifact(made.snapshot.index, {**made.metadata(), **told, **shown})


def published_results(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, those that were made with the published index as they are now, copied beside it."""
    account, told = _account(run)
    yield account
    made = publish_results(run.warehouse, run.corpus, _origin(run), RESULTS)
    yield Artifact(made.snapshot.version, {**made.metadata(), **told})


def _account(run: StepRun) -> tuple[Made, dict[str, Any]]:
    """The account of every run: calls, retries, tokens, money and seconds; and what this run has used."""
    log = run.memory.usage_log()
    used = log.of_run(run.corpus, run.run_id)
    told = shown_use(used) if used != ModelUse() else {"model_calls": 0}
    return Made(MODEL_USAGE, log.table(run.corpus)), told


def _origin(run: StepRun) -> Origin:
    return Origin(
        settings=run.settings,
        run_id=run.run_id,
        code=dict(run.code_of_tables()),
        accounts=Accounts(run.memory.usage_log().table(run.corpus), _RUN_USAGE),
    )
