"""Snapshots that machines share on an object store: uploaded by the one that indexes, fetched by readers.

Below the folder of a corpus there are ``<sha256>.duckdb``, ``<version>.json``, its manifest, and
``current.json``, which names the current version and who published last. It is replaced by compare-and-swap
after everything that it names is there, so that readers see all of a publication or nothing.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Self
from uuid import uuid4

from filelock import FileLock, Timeout
from pydantic import BaseModel, StringConstraints
from pydantic_core import from_json

from graphrag_dagster.errors import DamagedError, ObjectStoreError, WarehouseError
from graphrag_dagster.kernel.common.atomic_files import write_durably
from graphrag_dagster.kernel.common.printable import os_error_message
from graphrag_dagster.kernel.common.progress import say
from graphrag_dagster.kernel.storage.corpus_names import is_allowed
from graphrag_dagster.kernel.storage.object_store import ChangedError, ObjectFolder, UnchangedError
from graphrag_dagster.kernel.storage.published.derived_files import delete_outdated_files
from graphrag_dagster.kernel.storage.published.snapshot_manifest import (
    DATA,
    LOCK,
    MANIFEST,
    POINTER,
    VERSION,
    Published,
    folder_of,
    published_here,
    read_manifest,
    snapshot_at,
    snapshots,
)
from graphrag_dagster.kernel.storage.warehouse import Warehouse

#: File beside the local snapshots: what was seen and published on the object store.
RECORD = ".shared.json"
#: How long a reader goes by what it saw there, and how long if it did not answer.
CHECK_SECONDS, AWAY_SECONDS = 3.0, 30.0
_HASH = re.compile(r"[0-9a-f]{64}")
#: Names of the objects of a corpus; no other is deleted.
WRITTEN = re.compile(r"current\.json|[0-9a-f]{16}\.json|[0-9a-f]{64}\.duckdb")
#: Publications may follow each other while one is read.
_ATTEMPTS = 5


@dataclass(slots=True)
class _Check:
    """When this process looks next, and what went wrong last."""

    lock: Lock = field(default_factory=Lock)
    due: float = 0.0
    error: WarehouseError | None = None


class _SpoiltError(ObjectStoreError):
    """An object that is not what was published."""


CHECKS: dict[tuple[str, Path], _Check] = {}
_NAMES: dict[str, tuple[float, list[str]]] = {}


_Version = Annotated[str, StringConstraints(pattern=rf"^{VERSION.pattern}$")]


class Pointer(BaseModel, frozen=True, strict=True):
    """Content of ``current.json``.

    Attributes:
        version: the current snapshot; None if the corpus was deleted.
        manifest: hash of its manifest.
        publication: what was published last, when and where; a rollback does not change it.
        kept: versions of all snapshots there; readers delete their copies of others.
    """

    version: _Version | None
    manifest: str | None
    publication: dict[str, Any] | None
    kept: tuple[_Version, ...]

    def content(self) -> bytes:
        """Return it as JSON."""
        return self.model_dump_json(indent=1).encode()


#: Of a corpus that has no snapshots there.
NOTHING = Pointer(version=None, manifest=None, publication=None, kept=())


@dataclass(frozen=True, slots=True)
class SharedSnapshots:
    """The snapshots of a corpus on an object store."""

    warehouse: Warehouse
    corpus: str
    store: ObjectFolder

    @classmethod
    def of(cls, warehouse: Warehouse, corpus: str) -> Self | None:
        """Return the snapshots of a corpus that machines share; None unless a URL for them is set.

        Raises:
            SettingsError: the URL is invalid.
        """
        url = warehouse.published_url
        return cls(warehouse, corpus, ObjectFolder(url)) if url else None

    @property
    def url(self) -> str:
        """URL of the corpus's snapshots."""
        return self.store.url_of(self.corpus)

    def url_of(self, snapshot: Published) -> str:
        """Return the URL of a snapshot's file."""
        return self.store.url_of(self._path(f"{snapshot.manifest['hash']}{DATA}"))

    @property
    def folder(self) -> Path:
        """The folder of local copies."""
        return folder_of(self.warehouse, self.corpus)

    def refresh(self) -> None:
        """Fetch the current snapshot if it is another than before; at most every few seconds.

        If the store does not answer, or there is no room for another copy, the last one is used, with a
        warning.

        Raises:
            WarehouseError: there is none.
        """
        check = CHECKS.setdefault((self.url, self.folder), _Check())
        has_copy = (self.folder / POINTER).is_file()
        # Where another thread fetches, the copy is current until it has.
        if time.monotonic() >= check.due and check.lock.acquire(blocking=not has_copy):
            try:
                if time.monotonic() >= check.due:
                    self._look(check, has_copy=has_copy)
            finally:
                check.lock.release()
        if check.error and not has_copy:
            raise check.error

    def _look(self, check: _Check, *, has_copy: bool) -> None:
        try:
            self._fetch(has_copy=has_copy)
        except WarehouseError as error:
            if has_copy and check.error is None:
                say(f"{error}. Corpus {self.corpus!r} is read as it was fetched last")
            check.error, check.due = error, time.monotonic() + AWAY_SECONDS
        else:
            check.error, check.due = None, time.monotonic() + CHECK_SECONDS

    def _fetch(self, *, has_copy: bool) -> None:
        for _ in range(_ATTEMPTS):
            try:
                found = self.store.get(self._path(POINTER), unless=self._seen())
                if found is None:
                    return
                self.folder.mkdir(parents=True, exist_ok=True)
                seconds = 0 if has_copy else self.warehouse.lock_timeout_seconds
                with FileLock(self.folder / LOCK, timeout=seconds):
                    self._take(*found)
            except UnchangedError:
                return
            except ChangedError:
                continue
            except Timeout:
                if has_copy:
                    return
                raise WarehouseError(
                    f"another process is publishing in {self.folder}; waited {seconds:.0f} s. Try again"
                ) from None
            except OSError as error:
                raise WarehouseError(os_error_message(error)) from error
            return
        raise ObjectStoreError(
            f"{self.url} names a snapshot that is not there; index the corpus with --again"
        )

    def fetch_all(self) -> None:
        """Fetch all snapshots; the folder's lock must be held.

        Raises:
            ObjectStoreError: the store cannot be used.
        """
        with suppress(UnchangedError, ChangedError, _SpoiltError):
            if found := self.store.get(self._path(POINTER), unless=self._seen()):
                self._take(*found)
        for version in _versions(self.objects()):
            # It may have been deleted meanwhile.
            with suppress(ChangedError):
                try:
                    self._place(version, self._manifest(version))
                except _SpoiltError as error:
                    say(str(error))

    def _take(self, content: bytes, etag: str) -> None:
        pointer = self._pointer(content)
        if self._seen() == etag:
            return
        if pointer.version is not None:
            manifest = self._manifest(pointer.version)
            if sha256(manifest) != pointer.manifest:
                raise ChangedError
            self._place(pointer.version, manifest)
            write_durably(self.folder / POINTER, json.dumps({"version": pointer.version}))
        gone = set(self._record().get("held", ())) - set(pointer.kept)
        current = published_here(self.warehouse, self.corpus)
        if current and current.version in gone:
            (self.folder / POINTER).unlink()
        for version in gone:
            for ending in (MANIFEST, DATA):
                (self.folder / f"{version}{ending}").unlink(missing_ok=True)
        if gone:
            delete_outdated_files(self.warehouse, self.corpus)
        self._note(etag=etag, version=pointer.version, manifest=pointer.manifest, held=pointer.kept)

    def _manifest(self, version: str) -> bytes:
        found = self.store.get(self._path(f"{version}{MANIFEST}"))
        if found is None:
            raise ChangedError
        return found[0]

    def _place(self, version: str, content: bytes) -> None:
        """Put a snapshot into the local folder, fetched if it is not there."""
        url = self.store.url_of(self._path(f"{version}{MANIFEST}"))
        hashed = self._entries(content).get("hash")
        if hashed is None:
            raise _SpoiltError(
                f"{url} is damaged or of another version of graphrag-dagster; install the version that "
                "published it, or index the corpus with --again"
            )
        existing = None
        with suppress(WarehouseError):
            existing = snapshot_at(self.folder, version, self.corpus)
        if existing is None or existing.manifest["hash"] != hashed:
            making = self.folder / f".{uuid4().hex}.tmp"
            try:
                if not self.store.download(self._path(f"{hashed}{DATA}"), making):
                    raise ChangedError
                with making.open("rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != hashed:
                        raise _SpoiltError(
                            f"{self.store.url_of(self._path(hashed + DATA))} is not what was published; "
                            "delete it and index the corpus with --again"
                        )
                making.chmod(0o444)
                making.replace(self.folder / f"{version}{DATA}")
            finally:
                making.unlink(missing_ok=True)
        write_durably(self.folder / f"{version}{MANIFEST}", content.decode())

    def _entries(self, manifest: bytes) -> Mapping[str, Any]:
        """Return the entries of a manifest of this corpus; empty if it is not one."""
        with suppress(ValueError, DamagedError):
            entries = read_manifest(manifest, self.url)
            if entries["corpus"] == self.corpus and _HASH.fullmatch(entries["hash"]):
                return entries
        return {}

    def manifests(self) -> list[tuple[Published, int]]:
        """Return the snapshots there, whether they are here or not, with the sizes of their files.

        Raises:
            ObjectStoreError: the store cannot be used.
        """
        objects, found = self.objects(), []
        for version in _versions(objects):
            with suppress(ChangedError):
                if entries := self._entries(self._manifest(version)):
                    file, size = self.folder / f"{version}{DATA}", objects.get(f"{entries['hash']}{DATA}", 0)
                    found.append((Published(file, version, entries["index"], entries), size))
        return sorted(found, key=lambda one: one[0].published, reverse=True)

    def uploaded(self, snapshot: Published) -> bool:
        """Whether a local snapshot is the current one there, and nothing is left to be deleted, as far as
        this home knows.
        """
        manifest = snapshot.file.with_suffix(MANIFEST).read_bytes()
        record = self._record()
        here = {one.version for one in snapshots(self.warehouse, self.corpus)}
        is_current = (record.get("version"), record.get("manifest")) == (snapshot.version, sha256(manifest))
        return is_current and here.issuperset(record.get("held", ()))

    def _pointer(self, content: bytes) -> Pointer:
        try:
            return Pointer.model_validate_json(content)
        except ValueError:
            url = self.store.url_of(self._path(POINTER))
            raise ObjectStoreError(f"{url} is damaged; delete it and index the corpus with --again") from None

    def _path(self, name: str) -> str:
        return f"{self.corpus}/{name}"

    def objects(self) -> dict[str, int]:
        """Return the sizes in bytes of the objects of the corpus, by name; whatever else is in its folder is
        none of ours.

        Raises:
            ObjectStoreError: the store cannot be used.
        """
        found = {
            path.removeprefix(f"{self.corpus}/"): size for path, size in self.store.list(self.corpus).items()
        }
        return {name: size for name, size in found.items() if WRITTEN.fullmatch(name)}

    def _seen(self) -> str | None:
        """Return the ETag of the pointer that the local copy was made by; None if it has to be made again."""
        record = self._record()
        with suppress(WarehouseError):
            if record.get("version") is None or published_here(self.warehouse, self.corpus):
                return record.get("etag")
        return None

    def _record(self) -> dict[str, Any]:
        """Return what this home knows of the store; nothing if it is of another one."""
        with suppress(OSError, ValueError, AttributeError):
            record = from_json((self.folder / RECORD).read_bytes())
            if record.get("url") == self.url:
                return dict(record)
        return {}

    def _note(self, **entries: object) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        record = {**self._record(), "url": self.url, **entries}
        write_durably(self.folder / RECORD, json.dumps(record, ensure_ascii=False))


def shared_corpora(warehouse: Warehouse) -> list[str]:
    """Return the names of the corpora that machines share, sorted; if the store does not answer, of those
    fetched from it before.

    Raises:
        SettingsError: the URL is invalid.
        ObjectStoreError: it does not answer, and none was fetched.
    """
    if not warehouse.published_url:
        return []
    store = ObjectFolder(warehouse.published_url)
    due, names = _NAMES.get(store.url, (0.0, []))
    if time.monotonic() >= due:
        try:
            found = {path.parent.name for path in map(Path, store.list()) if VERSION.fullmatch(path.stem)}
            names, due = sorted(filter(is_allowed, found)), time.monotonic() + CHECK_SECONDS
        except ObjectStoreError as error:
            if not names:
                names = warehouse.corpora_with(f"published/{{corpus}}/{RECORD}")
            if not names:
                raise
            say(f"{error}. Corpora that were fetched before are listed")
            due = time.monotonic() + AWAY_SECONDS
        _NAMES[store.url] = (due, names)
    return names


def _versions(objects: Iterable[str]) -> list[str]:
    """Return the versions of the manifests among the names of objects."""
    stems = (name.removesuffix(MANIFEST) for name in objects if name.endswith(MANIFEST))
    return [stem for stem in stems if VERSION.fullmatch(stem)]


def sha256(content: bytes) -> str:
    """Return the hash by which a manifest is named."""
    return hashlib.sha256(content).hexdigest()
