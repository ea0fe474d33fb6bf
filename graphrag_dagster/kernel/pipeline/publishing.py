"""Publishes the tables of a corpus as read-only copies, erases deleted data, and records provenance."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dagster import AssetKey, AssetMaterialization, AssetRecordsFilter, DagsterEventType, DagsterInstance

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.pipeline.erasure import (
    clear_older_snapshots,
    deleted_documents,
    erase,
    names_in_texts,
)
from graphrag_dagster.kernel.pipeline.orchestration.io_manager import stored_at
from graphrag_dagster.kernel.pipeline.sql_models.loader import our_models
from graphrag_dagster.kernel.pipeline.step_declaration import Artifact, Made, StepRun
from graphrag_dagster.kernel.storage.published import (
    RESULTS,
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

_CODE_VERSION = "dagster/code_version"


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


def code_of_tables(
    instance: DagsterInstance, run_id: str, warehouse: Warehouse, corpus: str, assets: Collection[Table]
) -> dict[str, str]:
    """Return the code version that last made each table of a corpus, by asset key.

    Args:
        instance: the Dagster instance with the records.
        run_id: the run that publishes.
        warehouse: the warehouse.
        corpus: the corpus.
        assets: tables that are assets; other tables may have records of an older release.
    """
    # One query for the whole run: one per table would take as long as the copy.
    of_run = instance.get_records_for_run(run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION)
    events = [record.event_log_entry.asset_materialization for record in of_run.records]
    latest = {str(event.asset_key.path): event for event in events if event and event.partition == corpus}
    with warehouse.reading(corpus) as reader:
        existing = [table for table in all_tables() if reader.has(table)]
    versions: dict[str, str] = {}
    for table in existing:
        # The tables of a group share one version.
        if table in assets and table.group not in versions:
            key = AssetKey(table.asset_key)
            event = latest.get(str(key.path)) or _last(instance, key, corpus)
            if event and (version := (event.tags or {}).get(_CODE_VERSION)):
                versions[table.group] = version
    return {"/".join(table.asset_key): versions[table.group] for table in existing if table.group in versions}


def _last(instance: DagsterInstance, key: AssetKey, corpus: str) -> AssetMaterialization | None:
    of_asset = AssetRecordsFilter(asset_key=key, asset_partitions=[corpus])
    records = instance.fetch_materializations(of_asset, limit=1).records
    return records[0].asset_materialization if records else None


_INDEX = tuple(table for table in all_tables() if table not in {*RESULTS, *ACCOUNTS})
_RUN_USAGE = next(model.query for model in our_models() if model.table == RUN_USAGE)


def published_snapshot(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, copied after all checks have passed. Index tables are taken as they are now."""
    account, usage = _account(run)
    yield account
    publication = publish_index(run.warehouse, run.corpus, _provenance(run), _INDEX, run.memory.database())
    display: dict[str, Any] = {}
    for system in systems().values():
        if system.shown:
            display |= load_target(system.shown)(run.corpus, run.warehouse, run.corpora)
    yield Artifact(publication.snapshot.index, {**publication.metadata(), **usage, **display})


def published_results(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, copied beside the published index. Results of requested jobs are taken as they are now."""
    account, usage = _account(run)
    yield account
    publication = publish_results(run.warehouse, run.corpus, _provenance(run), RESULTS)
    yield Artifact(publication.snapshot.version, {**publication.metadata(), **usage})


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
        accounts=Accounts(run.memory.usage_log().table(run.corpus), _RUN_USAGE),
    )
