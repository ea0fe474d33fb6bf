"""Detects changes of a corpus folder: first by file metadata, then by content."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from graphrag_dagster.errors import DamagedError
from graphrag_dagster.kernel.pipeline.updates.differences import changed_files, changed_settings
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse

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
