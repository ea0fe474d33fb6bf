"""Whether a corpus folder has changed: cheaply by what the file system says, then by content."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from graphrag_dagster.core.corpus.files import discover
from graphrag_dagster.resources.corpora import CorpusStore, ignored
from graphrag_dagster.resources.published import published
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings

_BLOCK = 1 << 20
_NO_PART = (".", "~$")
_LEFTOVERS = ("~", ".swp", ".swo")


def cheap_fingerprint(folder: Path) -> str:
    """Hash of path, size and time of change of every file below the folder, ``corpus.yaml`` among them.

    Hidden files and what editors leave are no part of a corpus. Reads no file.

    Raises:
        OSError: the folder cannot be listed.
    """
    digest = hashlib.sha256()
    for path, entry in _files(folder):
        found = entry.stat()
        digest.update(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def content_fingerprint(folder: Path) -> str:
    """Hash of path and content of every file below the folder.

    Raises:
        OSError: a file cannot be read, for instance because it has just gone.
    """
    digest = hashlib.sha256()
    for path, entry in _files(folder):
        digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(_hash_of(Path(entry.path)))
    return digest.hexdigest()[:16]


def _hash_of(path: Path) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.digest()


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

    True where nothing is published yet. Reads every file.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used.
        WarehouseError: the manifest of the snapshot is damaged.
    """
    current = published(warehouse, corpus)
    if current is None:
        return True
    settings = corpora.settings(corpus)
    if current.manifest.get("settings") != settings.model_dump(mode="json"):
        return True
    then = {(one["path"], one["sha256"]) for one in current.manifest.get("files", []) if one["sha256"]}
    return then != set(_hashes(corpora, corpus, settings))


def _hashes(corpora: CorpusStore, corpus: str, settings: CorpusSettings) -> Iterator[tuple[str, str]]:
    for file in discover(
        corpora.folder(corpus), max_bytes=settings.files.max_bytes, ignore=ignored(settings)
    ):
        if file.problem is None:
            yield file.path, _hash_of(file.location).hex()
