"""The tables as they are read: copies that no run touches."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from graphrag_dagster import tables
from graphrag_dagster.core.accounting.use import ModelUse
from graphrag_dagster.dbt_like_sql.loader import our_models
from graphrag_dagster.engines.session import shown_use
from graphrag_dagster.operations.keeping.publication import publish_index, publish_results
from graphrag_dagster.pipeline.shown import Url, treemap
from graphrag_dagster.pipeline.stage import Artifact, Made, StageRun, Tables
from graphrag_dagster.resources.home import explorer_url
from graphrag_dagster.resources.published import RESULTS, Accounts, Origin
from graphrag_dagster.tables import MODEL_USAGE

if TYPE_CHECKING:
    from graphrag_dagster.operations.exploring.explorer import Explorer

_INDEX = tuple(table for table in tables.ALL_TABLES if table not in {*RESULTS, *tables.ACCOUNTS})
_RUN_USAGE = next(model.query for model in our_models() if model.table == tables.RUN_USAGE)


def published_snapshot(_tables: Tables, run: StageRun) -> Iterator[Made | Artifact]:
    """All tables, those of the index as they are now, copied once all checks have passed."""
    # All that the explorer shows hangs on it; no step before this one needs any of it.
    from graphrag_dagster.operations.exploring.explorer import Explorer

    account, told = _account(run)
    yield account
    made = publish_index(run.warehouse, run.corpus, _origin(run), _INDEX, run.memory.database())
    shown = _shown(Explorer(run.corpus, run.warehouse, run.corpora))
    yield Artifact(made.snapshot.index, {**made.metadata(), **told, **shown})


def published_results(_tables: Tables, run: StageRun) -> Iterator[Made | Artifact]:
    """All tables, those that were made with the published index as they are now, copied beside it."""
    account, told = _account(run)
    yield account
    made = publish_results(run.warehouse, run.corpus, _origin(run), RESULTS)
    yield Artifact(made.snapshot.version, {**made.metadata(), **told})


def _account(run: StageRun) -> tuple[Made, dict[str, Any]]:
    """The account of every run: calls, retries, tokens, money and seconds; and what this run has used."""
    log = run.memory.usage_log()
    used = log.of_run(run.corpus, run.run_id)
    told = shown_use(used) if used != ModelUse() else {"model_calls": 0}
    return Made(MODEL_USAGE, log.table(run.corpus)), told


def _shown(explorer: "Explorer") -> dict[str, Any]:
    """A link to the explorer, and the map it begins with."""
    cells = explorer.communities().cells
    return {
        "explorer": Url(f"{explorer_url()}/#/{quote(explorer.corpus, safe='')}"),
        "map": treemap([(one.title, one.size, one.rating) for one in cells], "Communities of C0"),
    }


def _origin(run: StageRun) -> Origin:
    return Origin(
        settings=run.settings,
        run_id=run.run_id,
        code=dict(run.code_of_tables()),
        accounts=Accounts(run.memory.usage_log().table(run.corpus), _RUN_USAGE),
    )
