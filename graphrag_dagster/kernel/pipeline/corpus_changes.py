"""Changes of a corpus's files and settings since the published state, and the guard against lost files."""

import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from graphrag_dagster.errors import CorpusError, DamagedError
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.common.state_comparison import (
    Change,
    FileChanges,
    compare_files,
    compare_values,
    flattened,
)
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.credentials import redacted, redacted_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import Published, published
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def changed_files(store: CorpusStore, name: str, snapshot: Published | None) -> FileChanges:
    """Compare the files of a corpus with those of its snapshot, by content.

    Without a snapshot every file is added. Files are hashed; they are parsed only where one that was refused
    then might be taken now.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used.
    """
    hashes = store.hashes(name)
    if snapshot is None:
        return compare_files({}, hashes)
    files = snapshot.manifest.get("files")
    if files is None:
        return FileChanges(unchanged=len(hashes))
    before = {file["path"]: file.get("sha256") for file in files}
    # Whether a file that no reader took then, and that has a hash now, is taken now only reading tells.
    if any(content and before.get(path, content) is None for path, content in hashes.items()):
        hashes = dict(store.read(name).files.select("path", "sha256").iter_rows())
    return compare_files(before, hashes)


def changed_settings(settings: CorpusSettings, snapshot: Published) -> list[Change]:
    """Compare settings with those of a snapshot, keys joined by dots."""
    return compare_values(settings_then(settings, snapshot.manifest), _told(settings))


def settings_then(settings: CorpusSettings, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a manifest tells of; a key that there was not yet had what is its default now.

    A manifest without settings is taken to be made with ``settings``.
    """
    if "settings" not in manifest:
        return _told(settings)
    then = {key: redacted(key, value) for key, value in flattened(manifest["settings"]).items()}
    return _told(CorpusSettings()) | then


def _told(settings: CorpusSettings) -> dict[str, Any]:
    """Settings as a manifest tells of them."""
    return flattened(redacted_settings(settings.model_dump(mode="json")))


#: The share of the published files that has to be gone, and most that there may be now in proportion to them.
_GONE, _LEFT = 0.8, 0.2


def check_removals(corpora: CorpusStore, warehouse: Warehouse, corpus: str) -> None:
    """Refuse to index a folder that has lost all or nearly all files since it was published.

    Files that were renamed are not gone. Nothing is refused where nothing is published, nor where
    ``corpora.accept_removals`` says that it is meant.

    Raises:
        CorpusError: too much is gone.
        SettingsError: the settings cannot be used.
    """
    snapshot = published(warehouse, corpus)
    if snapshot is None or corpora.accept_removals:
        return
    before = {file["path"] for file in snapshot.manifest.get("files") or ()}
    now = {file.path for file in corpora.found(corpus)}
    if not _suspicious(len(before), len(before - now), len(now)):
        return
    # Only now are they hashed, which tells what was renamed.
    removed = len(changed_files(corpora, corpus, snapshot).removed)
    if not _suspicious(len(before), removed, len(now)):
        return
    folder = corpora.folder(corpus)
    left = f"{removed:,} of the {counted(len(before), 'file')} that corpus {corpus!r} was published with"
    raise CorpusError(
        f"{left} are gone from {folder}, which contains {counted(len(now), 'file')} now; the published "
        "snapshots are unchanged. If its disk is not mounted, mount it, and run again; if they were "
        f"deleted on purpose, run: graphrag-dagster index {shlex.quote(corpus)} --accept-removals (in "
        "Dagster: accept_removals: true in the config of the resource corpora)"
    )


def _suspicious(before: int, gone: int, now: int) -> bool:
    return before > 0 and gone >= _GONE * before and now <= _LEFT * before


_NO_PART = (".", "~$")
_LEFTOVERS = ("~", ".swp", ".swo")


def cheap_fingerprint(folders: Iterable[Path]) -> str:
    """Hash of path, size and time of change of every file below folders, ``corpus.yaml`` among them.

    Hidden files and what editors leave are no part of a corpus. Reads no file.

    Raises:
        OSError: a folder cannot be listed.
    """
    digest = hashlib.sha256()
    for path, entry in chain.from_iterable(map(_files, folders)):
        found = entry.stat()
        digest.update(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def content_fingerprint(folders: Iterable[Path]) -> str:
    """Hash of path and content of every file below folders.

    Raises:
        OSError: a file cannot be read, for instance because it has just gone.
    """
    digest = hashlib.sha256()
    for path, entry in chain.from_iterable(map(_files, folders)):
        digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
        with Path(entry.path).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _files(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Files at any depth, with their path below the folder, sorted by it."""
    found: list[tuple[str, os.DirEntry[str]]] = []
    pending = [(str(folder), "")]
    while pending:
        current, prefix = pending.pop()
        with os.scandir(current) as listing:
            for entry in listing:
                if entry.name.startswith(_NO_PART) or entry.name.endswith(_LEFTOVERS):
                    continue
                path = f"{prefix}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, f"{path}/"))
                elif entry.is_file():
                    found.append((path, entry))
    return iter(sorted(found, key=lambda one: one[0]))


def changed_since_published(corpora: CorpusStore, warehouse: Warehouse, corpus: str) -> bool:
    """Whether files or settings differ from those that the current snapshot was made from.

    True where nothing is published yet, or what is published is damaged. Reads every file.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used.
    """
    try:
        snapshot = published(warehouse, corpus)
    except DamagedError:
        # An index publishes anew.
        return True
    if snapshot is None or changed_settings(corpora.settings(corpus), snapshot):
        return True
    return bool(changed_files(corpora, corpus, snapshot))
