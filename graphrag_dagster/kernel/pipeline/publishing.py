"""Publishes the tables of a corpus as read-only copies: erases deleted data, records provenance."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dagster import AssetKey, AssetMaterialization, AssetRecordsFilter, DagsterEventType, DagsterInstance

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import all_tables, loaded, systems
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.pipeline.erasure import clear_older, deleted_documents, erase, names_in_texts
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
from graphrag_dagster.kernel.tables import MODEL_USAGE, Table, Tables
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
        """Its metadata in Dagster."""
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
    """Publish the tables of the index; what came only from documents that are gone leaves the files.

    What questions need of a large index is made with it.

    Args:
        warehouse: with the tables.
        corpus: its name.
        provenance: what they were made with.
        fresh: the tables of the index.
        memory: the cached replies.
    """
    said = frozenset(names_in_texts(provenance.settings.model_dump(mode="json", include={"resolution"})))
    erased = erase(warehouse, corpus, memory, said)
    before = _standing(warehouse, corpus)
    made, changed = publish(warehouse, corpus, provenance, fresh=fresh)
    outlived = before if changed and before is not None and before.file.is_file() else None
    if outlived and deleted_documents(warehouse, corpus, made.version):
        # One that cannot be read has nothing to tell, and is about to go.
        with suppress(WarehouseError):
            for system in systems().values():
                if system.superseded:
                    loaded(system.superseded)(warehouse, corpus, outlived, made)
    cleared = clear_older(warehouse, corpus, made.version, said)
    if made.large:
        from graphrag_dagster.kernel.questions.snapshot_opening import prepare

        prepare(warehouse, corpus)
    gone = {**erased.metadata(), "snapshots_deleted": len(cleared)} if erased else {}
    return Publication(made, changed, len(snapshots(warehouse, corpus)), gone)


def _standing(warehouse: Warehouse, corpus: str) -> Published | None:
    try:
        return published(warehouse, corpus)
    except WarehouseError:
        # What is damaged is replaced by what is published now.
        return None


def publish_results(
    warehouse: Warehouse, corpus: str, provenance: SnapshotProvenance, fresh: Collection[Table]
) -> Publication:
    """Publish what was made with the published index beside it; arguments as :func:`publish_index`."""
    made, changed = publish(warehouse, corpus, provenance, fresh=fresh)
    return Publication(made, changed, len(snapshots(warehouse, corpus)))


def code_of_tables(
    instance: DagsterInstance, run_id: str, warehouse: Warehouse, corpus: str, assets: Collection[Table]
) -> dict[str, str]:
    """Return the versions of the code that made each table of a corpus last, by asset key.

    Args:
        instance: knows what was made.
        run_id: the run that publishes.
        warehouse: with the tables.
        corpus: its name.
        assets: tables that are assets; of others an earlier release may have left records.
    """
    # One query for all of this run: one for each table would take as long as the copy.
    of_run = instance.get_records_for_run(run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION)
    events = [one.event_log_entry.asset_materialization for one in of_run.records]
    made = {str(one.asset_key.path): one for one in events if one and one.partition == corpus}
    with warehouse.reading(corpus) as reader:
        there = [table for table in all_tables() if reader.has(table)]
    versions: dict[str, str] = {}
    for table in there:
        # The tables of a group have one version.
        if table in assets and table.group not in versions:
            key = AssetKey(table.asset_key)
            one = made.get(str(key.path)) or _last(instance, key, corpus)
            if one and (version := (one.tags or {}).get(_CODE_VERSION)):
                versions[table.group] = version
    return {"/".join(one.asset_key): versions[one.group] for one in there if one.group in versions}


def _last(instance: DagsterInstance, key: AssetKey, corpus: str) -> AssetMaterialization | None:
    wanted = AssetRecordsFilter(asset_key=key, asset_partitions=[corpus])
    records = instance.fetch_materializations(wanted, limit=1).records
    return records[0].asset_materialization if records else None


_INDEX = tuple(table for table in all_tables() if table not in {*RESULTS, *tables.ACCOUNTS})
_RUN_USAGE = next(model.query for model in our_models() if model.table == tables.RUN_USAGE)


def published_snapshot(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, those of the index as they are now, copied once all checks have passed."""
    account, told = _account(run)
    yield account
    made = publish_index(run.warehouse, run.corpus, _provenance(run), _INDEX, run.memory.database())
    shown: dict[str, Any] = {}
    for system in systems().values():
        if system.shown:
            shown |= loaded(system.shown)(run.corpus, run.warehouse, run.corpora)
    yield Artifact(made.snapshot.index, {**made.metadata(), **told, **shown})


def published_results(_tables: Tables, run: StepRun) -> Iterator[Made | Artifact]:
    """All tables, those that were made with the published index as they are now, copied beside it."""
    account, told = _account(run)
    yield account
    made = publish_results(run.warehouse, run.corpus, _provenance(run), RESULTS)
    yield Artifact(made.snapshot.version, {**made.metadata(), **told})


def _account(run: StepRun) -> tuple[Made, dict[str, Any]]:
    """The account of every run: calls, retries, tokens, money and seconds; and what this run has used."""
    log = run.memory.usage_log()
    used = log.of_run(run.corpus, run.run_id)
    told = shown_use(used) if used != ModelUse() else {"model_calls": 0}
    return Made(MODEL_USAGE, log.table(run.corpus)), told


def _provenance(run: StepRun) -> SnapshotProvenance:
    return SnapshotProvenance(
        settings=run.settings,
        run_id=run.run_id,
        code=dict(run.code_of_tables()),
        accounts=Accounts(run.memory.usage_log().table(run.corpus), _RUN_USAGE),
    )
