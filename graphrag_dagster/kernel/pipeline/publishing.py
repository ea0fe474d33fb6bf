"""Publishes the tables of a corpus as read-only copies, erases deleted data, and records provenance."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.pipeline.erasure import (
    clear_older_snapshots,
    deleted_documents,
    erase,
    names_in_texts,
    report_folder,
)
from graphrag_dagster.kernel.pipeline.result_display import FilePath, stored_at
from graphrag_dagster.kernel.pipeline.step_declaration import Artifact, Made, StepRun
from graphrag_dagster.kernel.storage.published import (
    RESULTS as RESULT_TABLES,
)
from graphrag_dagster.kernel.storage.published import (
    Accounts,
    Published,
    SnapshotProvenance,
    publish,
    published,
    snapshots,
)
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tables.usage_tables import ACCOUNTS, MODEL_USAGE, RUN_USAGE
from graphrag_dagster.kernel.tasks.task_provider import shown_use

#: The artifacts of publishing the index, and the results of other jobs.
SNAPSHOT, RESULTS = "marts/published_snapshot", "marts/published_results"


_INDEX = tuple(table for table in all_tables() if table not in {*RESULT_TABLES, *ACCOUNTS})


def published_snapshot(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, copied after all checks have passed. Index tables are taken as they are now, and data that
    came only from deleted documents is erased.
    """
    account, usage = _account(run)
    yield account
    warehouse, corpus = run.warehouse, run.corpus
    names = frozenset(names_in_texts(run.settings.model_dump(mode="json", include={"resolution"})))
    erased = erase(warehouse, corpus, run.memory.database(), names)
    before = _current_snapshot(warehouse, corpus)
    snapshot, changed = publish(warehouse, corpus, _provenance(run), fresh=_INDEX)
    if before and changed:
        _supersede(warehouse, corpus, before, snapshot)
    cleared = clear_older_snapshots(warehouse, corpus, snapshot.version, names)
    if snapshot.large:
        # Made now, because questions would wait for the files that are derived from it.
        from graphrag_dagster.kernel.questions.snapshot_opening import prepare

        prepare(warehouse, corpus)
    erasure = {**erased.metadata(), "snapshots_deleted": len(cleared)} if erased else {}
    yield Artifact(snapshot.index, {**_shown(run, snapshot, changed=changed), **erasure, **usage})


def _current_snapshot(warehouse: Warehouse, corpus: str) -> Published | None:
    try:
        return published(warehouse, corpus)
    except WarehouseError:
        # A damaged snapshot is about to be replaced.
        return None


def _supersede(warehouse: Warehouse, corpus: str, before: Published, snapshot: Published) -> None:
    """Let systems take over what they want from a snapshot that is about to be deleted."""
    if not before.file.is_file() or not deleted_documents(warehouse, corpus, snapshot.version):
        return
    # An unreadable snapshot has nothing to offer.
    with suppress(WarehouseError):
        for system in systems().values():
            if system.superseded:
                load_target(system.superseded)(warehouse, corpus, before, snapshot)


def published_results(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, copied beside the published index. Results of requested jobs are taken as they are now."""
    account, usage = _account(run)
    yield account
    snapshot, changed = publish(run.warehouse, run.corpus, _provenance(run), fresh=RESULT_TABLES)
    yield Artifact(snapshot.version, {**_shown(run, snapshot, changed=changed), **usage})


def _shown(run: StepRun, snapshot: Published, *, changed: bool) -> dict[str, Any]:
    """Return what is shown of a snapshot, and links to where people look at it."""
    return {
        **stored_at(snapshot.file),
        "version": snapshot.version,
        "index": snapshot.index,
        "changed": changed,
        "bytes": snapshot.file.stat().st_size,
        "kept": len(snapshots(run.warehouse, run.corpus)),
        **_links(run),
    }


def _links(run: StepRun) -> dict[str, Any]:
    """Return where people look at what is published: what systems show, and the report of an evaluation."""
    links: dict[str, Any] = {}
    for system in systems().values():
        if system.shown:
            links |= load_target(system.shown)(run.corpus, run.warehouse, run.corpora)
    page = report_folder(run.warehouse, run.corpus) / "report.html"
    return {**links, "report": FilePath(page)} if page.is_file() else links


def _account(run: StepRun) -> tuple[Made, dict[str, Any]]:
    """Return the usage of every run (calls, retries, tokens, money and seconds) and the metadata of this
    run.
    """
    log = run.memory.usage_log()
    used = log.of_run(run.corpus, run.run_id)
    shown = shown_use(used) if used != ModelUse() else {"model_calls": 0}
    return Made(MODEL_USAGE, log.table(run.corpus)), shown


def _provenance(run: StepRun) -> SnapshotProvenance:
    return SnapshotProvenance(
        settings=run.settings,
        run_id=run.run_id,
        code=dict(run.code_of_tables()),
        accounts=Accounts(run.memory.usage_log().table(run.corpus), run.queries[RUN_USAGE]),
    )
