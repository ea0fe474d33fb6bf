"""Publishing a snapshot and rolling back to an older one, atomically and one at a time."""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
from filelock import FileLock, Timeout

from graphrag_dagster.errors import ObjectStoreError, WarehouseError
from graphrag_dagster.kernel.common.atomic_files import delete, delete_written, write_durably
from graphrag_dagster.kernel.storage.published.derived_files import all_derived_files, delete_outdated_files
from graphrag_dagster.kernel.storage.published.provenance import SnapshotProvenance
from graphrag_dagster.kernel.storage.published.shared_publishing import SharedPublisher
from graphrag_dagster.kernel.storage.published.shared_snapshots import RECORD
from graphrag_dagster.kernel.storage.published.snapshot_contents import SEARCHED, Contents, contents
from graphrag_dagster.kernel.storage.published.snapshot_manifest import (
    DATA,
    DERIVED,
    FORMAT,
    LOCK,
    MANIFEST,
    POINTER,
    WRITTEN,
    Published,
    folder_of,
    published_here,
    snapshot_at,
    snapshots,
)
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Table

_READ_ONLY = 0o444


def publish(
    warehouse: Warehouse,
    corpus: str,
    provenance: SnapshotProvenance | None = None,
    *,
    fresh: Collection[Table] = all_tables(),
) -> tuple[Published, bool]:
    """Copy all tables into a new current snapshot, and delete the oldest beyond ``publishing.keep``.

    If no row has changed, no new file is made, and only the code, settings, prompts and models in the
    manifest are updated.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        provenance: the provenance; default: none, with the usage accounts of the warehouse.
        fresh: tables to publish anew; the others stay as published, unless documents they are based on were
            deleted.

    Returns:
        the current snapshot, and whether it differs from the previous one.

    Raises:
        WarehouseError: the warehouse cannot be read, or the snapshot cannot be written.
        StaleError: another home has published the corpus where machines share snapshots.
        ObjectStoreError: it could not be uploaded there; it is published on this machine, and the next call
            uploads it.
    """
    made_by = provenance or SnapshotProvenance()
    folder, shared = folder_of(warehouse, corpus), SharedPublisher.of(warehouse, corpus)
    with _locked(warehouse, folder):
        if shared:
            # Where it does not answer, what is new is at least published here.
            with suppress(ObjectStoreError):
                shared.check_stale()
        before = _current_snapshot(warehouse, corpus)
        # In a modified file, intact tables cannot be told from damaged ones.
        intact = before if before is not None and before.intact() else None
        _remove_incomplete(folder, corpus)
        try:
            snapshot = _made(warehouse, corpus, made_by, fresh, intact)
            changed = before is None or before.version != snapshot.version
            if changed:
                _point(folder, snapshot.version)
        except (OSError, duckdb.Error) as error:
            raise WarehouseError(
                f"publishing in {folder} failed ({str(error).splitlines()[0]}); the published snapshots are "
                "unchanged. Free disk space or fix the cause, and run again"
            ) from error
        _prune(warehouse, corpus, made_by.settings.publishing.keep)
        if shared:
            shared.upload(snapshot)
            shared.keep()
        return snapshot, changed


def rollback(warehouse: Warehouse, corpus: str, version: str | None = None) -> Published:
    """Make an older snapshot the current one; the next publication of an index publishes the newest again.

    Args:
        warehouse: the warehouse.
        corpus: the corpus.
        version: the snapshot; default: the one published before the current.

    Raises:
        ObjectStoreError: where machines share snapshots cannot be used; the current snapshot stays.
        WarehouseError: there is no such snapshot (the message lists the existing ones), or it is damaged.
    """
    folder, shared = folder_of(warehouse, corpus), SharedPublisher.of(warehouse, corpus)
    if not folder.is_dir() and not shared:
        raise WarehouseError(
            f"nothing of corpus {corpus!r} has been published; run 'graphrag-dagster index {corpus}'"
        )
    with _locked(warehouse, folder):
        if shared:
            shared.fetch_all()
        kept, current = snapshots(warehouse, corpus), _current_snapshot(warehouse, corpus)
        if version is None:
            older = (one for one in kept if current is None or one.published < current.published)
            chosen = next(older, None)
            missing = (
                "snapshot older than the current one: there is nothing to roll back to. An index that "
                "changes something publishes a new one; an older one is deleted when there are more than "
                "are kept (publishing.keep in its settings), or when it contains a deleted document"
            )
        else:
            chosen, missing = snapshot_at(folder, version, corpus), f"snapshot {version!r}"
        if chosen is None:
            existing = ", ".join(f"{one.version} of {one.published[:19]}" for one in kept) or "none"
            raise WarehouseError(f"corpus {corpus!r} has no {missing}; there are: {existing}")
        if not chosen.intact():
            raise WarehouseError(
                f"{chosen.file} is not what was published: it is damaged or was modified; the current "
                f"snapshot stays. List the others with: graphrag-dagster snapshots {corpus}"
            )
        if shared:
            shared.upload(chosen, rollback=True)
        _point(folder, chosen.version)
        return chosen


def _made(
    warehouse: Warehouse,
    corpus: str,
    provenance: SnapshotProvenance,
    fresh: Collection[Table],
    before: Published | None,
) -> Published:
    """Return the complete snapshot of the present tables, created if it does not exist yet."""
    folder, spill = folder_of(warehouse, corpus), folder_of(warehouse, corpus) / f".{uuid4().hex}.spill"
    with contents(warehouse, corpus, fresh, before, spill) as source:
        version = source.version()
        existing = snapshot_at(folder, version, corpus)
        manifest: dict[str, Any] = dict(existing.manifest) if existing else {}
        if existing is None or not existing.intact():
            counts, hashed = _write_tables(folder, version, source, provenance)
            index = source.version(SEARCHED)
            manifest = {"format": FORMAT, "corpus": corpus, "version": version, "index": index}
            manifest |= {"counts": counts, "hash": hashed}
        if before is None or before.version != version:
            manifest |= _publication_record(warehouse, corpus, provenance)
        manifest |= {**provenance.told(source.embedder()), "files": source.files()}
    if existing is None or manifest != existing.manifest:
        _write_json(folder / f"{version}{MANIFEST}", manifest)
    snapshot = snapshot_at(folder, version, corpus)
    if snapshot is None:
        raise WarehouseError(f"{folder / version} was deleted while it was being published; run again")
    return snapshot


def _write_tables(
    folder: Path, version: str, source: Contents, provenance: SnapshotProvenance
) -> tuple[dict[str, int], str]:
    making = folder / f".{uuid4().hex}.tmp"
    try:
        counts = {**source.counts(), **source.copy(making, provenance.accounts)}
        making.chmod(_READ_ONLY)
        with making.open("rb") as file:
            hashed = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        making.replace(folder / f"{version}{DATA}")
    finally:
        for leftover in (making, making.with_name(f"{making.name}.wal")):
            leftover.unlink(missing_ok=True)
    return counts, hashed


def _publication_record(warehouse: Warehouse, corpus: str, provenance: SnapshotProvenance) -> dict[str, Any]:
    now = datetime.now(UTC)
    for newest in snapshots(warehouse, corpus)[:1]:
        # Snapshots stay in order of publication even if the clock was set back.
        then = datetime.fromisoformat(newest.published)
        now = max(now, then.replace(tzinfo=then.tzinfo or UTC) + timedelta(microseconds=1))
    return {"published": now.isoformat(timespec="microseconds"), "run_id": provenance.run_id}


def _current_snapshot(warehouse: Warehouse, corpus: str) -> Published | None:
    try:
        return published_here(warehouse, corpus)
    except WarehouseError:
        return None


def _point(folder: Path, version: str) -> None:
    _write_json(folder / POINTER, {"version": version})


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_durably(path, json.dumps(content, ensure_ascii=False, indent=1))


def _remove_incomplete(folder: Path, corpus: str) -> None:
    """Remove leftovers of a killed publication: what was written and is not part of a complete snapshot."""
    complete, derived = {POINTER, RECORD, LOCK}, {kind.folder for kind in all_derived_files()}
    for file in folder.glob(f"*{DATA}"):
        with suppress(WarehouseError):
            if snapshot_at(folder, file.stem, corpus):
                complete |= {file.name, f"{file.stem}{MANIFEST}"}
    for entry in list(folder.iterdir()):
        # A file that a reader has open may not be deletable; it is left to the next publication.
        with suppress(OSError):
            if WRITTEN.fullmatch(entry.name):
                if entry.name not in complete:
                    delete(entry)
            elif entry.is_dir() and entry.name not in derived:
                # Of a system that is not installed any more.
                delete_written(entry, DERIVED)


def _prune(warehouse: Warehouse, corpus: str, keep: int) -> None:
    current = _current_snapshot(warehouse, corpus)
    for old in snapshots(warehouse, corpus)[keep:]:
        if current is None or old.version != current.version:
            with suppress(OSError):
                delete(old.file.with_suffix(MANIFEST))
                delete(old.file)
    # A file that cannot be deleted is left to the next publication.
    with suppress(OSError):
        delete_outdated_files(warehouse, corpus)


@contextmanager
def _locked(warehouse: Warehouse, folder: Path) -> Iterator[None]:
    """Serialise publications of a corpus; a killed process releases the lock."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = warehouse.lock_timeout_seconds
    try:
        with FileLock(folder / LOCK, timeout=seconds):
            yield
    except Timeout as error:
        raise WarehouseError(
            f"another process is publishing in {folder}; waited {seconds:.0f} s. Try again when it is done"
        ) from error
