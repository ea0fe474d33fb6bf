"""Publishes the tables of a corpus as read-only copies, erases deleted data, and records provenance."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.models.cache.cache_database import Database
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
from graphrag_dagster.kernel.tables.table_declaration import Table, Tables
from graphrag_dagster.kernel.tables.usage_tables import ACCOUNTS, MODEL_USAGE, RUN_USAGE
from graphrag_dagster.kernel.tasks.task_provider import shown_use

#: The artifacts of publishing the index, and the results of other jobs.
SNAPSHOT, RESULTS = "marts/published_snapshot", "marts/published_results"


@dataclass(frozen=True, slots=True)
class Publication:
    """Result of publishing; ``changed``: it is a new snapshot; ``erased``: what was deleted with it."""

    snapshot: Published
    changed: bool
    kept: int
    erased: dict[str, object] = field(default_factory=dict)

    def metadata(self) -> dict[str, Any]:
        """Return it as asset metadata."""
        return {
            **stored_at(self.snapshot.file),
            "version": self.snapshot.version,
            "index": self.snapshot.index,
            "changed": self.changed,
            "bytes": self.snapshot.file.stat().st_size,
            "kept": self.kept,
            **self.erased,
        }


def publish_index(
    warehouse: Warehouse,
    corpus: str,
    provenance: SnapshotProvenance,
    fresh: Collection[Table],
    memory: Database,
) -> Publication:
    """Publish the index tables, and erase data that came only from deleted documents.

    For a large index, the derived files that questions need are made as well.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        provenance: the provenance of the tables.
        fresh: the index tables.
        memory: the LLM cache.
    """
    names = frozenset(names_in_texts(provenance.settings.model_dump(mode="json", include={"resolution"})))
    erased = erase(warehouse, corpus, memory, names)
    before = _current_snapshot(warehouse, corpus)
    snapshot, changed = publish(warehouse, corpus, provenance, fresh=fresh)
    superseded = before if changed and before is not None and before.file.is_file() else None
    if superseded and deleted_documents(warehouse, corpus, snapshot.version):
        # An unreadable snapshot has nothing to offer, and is about to be deleted.
        with suppress(WarehouseError):
            for system in systems().values():
                if system.superseded:
                    load_target(system.superseded)(warehouse, corpus, superseded, snapshot)
    cleared = clear_older_snapshots(warehouse, corpus, snapshot.version, names)
    if snapshot.large:
        from graphrag_dagster.kernel.questions.snapshot_opening import prepare

        prepare(warehouse, corpus)
    erasure = {**erased.metadata(), "snapshots_deleted": len(cleared)} if erased else {}
    return Publication(snapshot, changed, len(snapshots(warehouse, corpus)), erasure)


def _current_snapshot(warehouse: Warehouse, corpus: str) -> Published | None:
    try:
        return published(warehouse, corpus)
    except WarehouseError:
        # A damaged snapshot is about to be replaced.
        return None


def publish_results(
    warehouse: Warehouse, corpus: str, provenance: SnapshotProvenance, fresh: Collection[Table]
) -> Publication:
    """Publish results of requested jobs beside the published index; for arguments see
    :func:`publish_index`.
    """
    snapshot, changed = publish(warehouse, corpus, provenance, fresh=fresh)
    return Publication(snapshot, changed, len(snapshots(warehouse, corpus)))


_INDEX = tuple(table for table in all_tables() if table not in {*RESULT_TABLES, *ACCOUNTS})


def published_snapshot(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, copied after all checks have passed. Index tables are taken as they are now."""
    account, usage = _account(run)
    yield account
    publication = publish_index(run.warehouse, run.corpus, _provenance(run), _INDEX, run.memory.database())
    yield Artifact(publication.snapshot.index, {**publication.metadata(), **usage, **_links(run)})


def published_results(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, copied beside the published index. Results of requested jobs are taken as they are now."""
    account, usage = _account(run)
    yield account
    publication = publish_results(run.warehouse, run.corpus, _provenance(run), RESULT_TABLES)
    yield Artifact(publication.snapshot.version, {**publication.metadata(), **usage, **_links(run)})


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
