"""Uploads snapshots to where machines share them, and deletes them there; see :mod:`.shared_snapshots`."""

import socket
from collections.abc import Collection
from uuid import uuid4

from graphrag_dagster.errors import ObjectStoreError, StaleError
from graphrag_dagster.kernel.storage.object_store import ChangedError
from graphrag_dagster.kernel.storage.published.shared_snapshots import (
    CHECKS,
    NOTHING,
    WRITTEN,
    Pointer,
    SharedSnapshots,
    sha256,
)
from graphrag_dagster.kernel.storage.published.snapshot_manifest import (
    DATA,
    MANIFEST,
    POINTER,
    Published,
    published_here,
    snapshots,
)


class SharedPublisher(SharedSnapshots):
    """The snapshots of a corpus on an object store, as the home that publishes them changes them."""

    def check_stale(self) -> None:
        """Check that no other home has published since this one did.

        Raises:
            StaleError: one has; says who and when.
            ObjectStoreError: the store cannot be used.
        """
        self._refuse_stale(self._current()[0])

    def _refuse_stale(self, pointer: Pointer) -> None:
        theirs = pointer.publication
        if theirs is None or self.warehouse.take_over or theirs.get("home", "") == self._record().get("home"):
            return
        run = f" in run {theirs['run_id']}" if theirs.get("run_id") else ""
        raise StaleError(
            f"{theirs.get('host')} published corpus {self.corpus!r} at {self.url} on "
            f"{str(theirs.get('published'))[:19]}Z (snapshot {theirs.get('version')}){run}, and this home "
            "has not published it since; nothing was published there. Index it there. To publish from here "
            f"from now on: graphrag-dagster index {self.corpus} --take-over (in Dagster: take_over: true in "
            "the config of the resource graphrag_warehouse)"
        )

    def upload(self, snapshot: Published, *, rollback: bool = False) -> None:
        """Upload a snapshot and make it the current one; the folder's lock must be held.

        Args:
            snapshot: of the local folder.
            rollback: it is an older one, and the home that published last goes on publishing.

        Raises:
            StaleError: another home has published since.
            ObjectStoreError: the store cannot be used; the next call goes on.
        """
        try:
            self._upload(snapshot, rollback=rollback)
        except ObjectStoreError as error:
            what = "nothing was rolled back" if rollback else "the new snapshot is on this machine only"
            mend = "" if rollback else f", and the next 'graphrag-dagster index {self.corpus}' uploads it"
            raise ObjectStoreError(f"{error}; {what}{mend}") from error

    def _upload(self, snapshot: Published, *, rollback: bool) -> None:
        manifest = snapshot.file.with_suffix(MANIFEST).read_bytes()
        before, etag = self._current()
        if not rollback:
            self._refuse_stale(before)
        # Before the swap, so that a run after a kill knows its own publication.
        self._note(home=self._record().get("home") or uuid4().hex)
        publication = before.publication
        if not (rollback and publication):
            publication = {
                "home": self._record()["home"],
                "version": snapshot.version,
                "published": snapshot.published,
                "run_id": snapshot.manifest.get("run_id"),
                "host": socket.gethostname(),
            }
        kept = tuple(sorted({*before.kept, snapshot.version}))
        wanted = Pointer(
            version=snapshot.version, manifest=sha256(manifest), publication=publication, kept=kept
        )
        self._upload_files(snapshot, kept)
        if wanted != before or etag is None:
            etag = self._swap(wanted, etag)
        self._note(etag=etag, version=wanted.version, manifest=wanted.manifest, held=kept)

    def _current(self) -> tuple[Pointer, str | None]:
        """Return what is current there, and its ETag; nothing if it is damaged and was this home's."""
        found = self.store.get(self._path(POINTER))
        if found is None:
            return NOTHING, None
        try:
            return self._pointer(found[0]), found[1]
        except ObjectStoreError:
            if not (self.warehouse.take_over or self._record().get("objects")):
                raise
            return NOTHING, found[1]

    def _upload_files(self, current: Published, kept: Collection[str]) -> None:
        """Upload the snapshots that are kept there, wherever an object is not as it was uploaded."""
        before, now = self._record().get("objects", {}), {}
        # Whatever it is there: with the same rows, it may be another manifest than before.
        before[self._path(f"{current.version}{MANIFEST}")] = ""
        for one in snapshots(self.warehouse, self.corpus):
            if one.version in kept:
                files = {f"{one.manifest['hash']}{DATA}": one.file}
                files[f"{one.version}{MANIFEST}"] = one.file.with_suffix(MANIFEST)
                for name, file in files.items():
                    path = self._path(name)
                    now[path] = self.store.upload(path, file, before.get(path))
        self._note(objects=now)

    def _swap(self, wanted: Pointer, etag: str | None) -> str:
        try:
            return self.store.swap(self._path(POINTER), wanted.content(), etag)
        except ChangedError:
            found = self.store.get(self._path(POINTER))
            if found and found[0] == wanted.content():
                # The answer to the first attempt was lost.
                return found[1]
            self._note(etag=None)
            if found:
                self._refuse_stale(self._pointer(found[0]))
            raise StaleError(
                f"corpus {self.corpus!r} was published or rolled back at {self.url} at the same "
                "time; nothing was changed there. Run again"
            ) from None

    def keep(self) -> None:
        """Delete what is not in the local folder of this home, which published last, and killed uploads.

        Raises:
            StaleError: another home has published since.
            ObjectStoreError: something cannot be deleted.
        """
        pointer, pointed = self._current()
        if pointed is None:
            return
        self._refuse_stale(pointer)
        here = snapshots(self.warehouse, self.corpus)
        kept = {snapshot.version: snapshot for snapshot in here if snapshot.version in pointer.kept}
        if pointer.version not in kept and (current := published_here(self.warehouse, self.corpus)):
            # Another machine has just rolled back to what is deleted now.
            self.upload(current)
            self.keep()
            return
        needed = {POINTER, *(f"{version}{MANIFEST}" for version in kept)}
        needed |= {f"{snapshot.manifest['hash']}{DATA}" for snapshot in kept.values()}
        self.store.delete(self._path(name) for name in self.objects() if name not in needed)
        self.store.delete_unfinished(self.corpus, WRITTEN)
        held = tuple(version for version in pointer.kept if version in kept)
        if held != pointer.kept:
            # Tells readers to delete their copies.
            etag = self._swap(pointer.model_copy(update={"kept": held}), pointed)
            self._note(etag=etag, held=held)

    def delete(self) -> bool:
        """Delete all snapshots; readers drop their copies. False if there are none.

        Raises:
            StaleError: one was published at the same time.
            ObjectStoreError: something cannot be deleted.
        """
        before, etag = self._current()
        others = [self._path(name) for name in self.objects() if name != POINTER]
        is_there = bool(others) or before != NOTHING
        if etag and is_there:
            self._swap(NOTHING, etag)
        self.store.delete(others)
        self.store.delete_unfinished(self.corpus, WRITTEN)
        CHECKS.pop((self.url, self.folder), None)
        return is_there
