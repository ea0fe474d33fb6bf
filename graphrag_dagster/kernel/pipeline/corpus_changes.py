"""Changes of a corpus's files and settings since its publication, and the guard against lost files."""

import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphrag_dagster.errors import CorpusError, DamagedError, ObjectStoreError
from graphrag_dagster.kernel.common.file_discovery import DECISIONS_FILE, SETTINGS_FILE, hash_files
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.common.state_comparison import (
    Change,
    FileChanges,
    compare_files,
    compare_values,
    flatten,
)
from graphrag_dagster.kernel.documents.documents import read_corpus
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.credentials import redact, redacted_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import Published, published
from graphrag_dagster.kernel.storage.published.shared_publishing import SharedPublisher
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def changed_files(store: CorpusStore, name: str, snapshot: Published | None) -> FileChanges:
    """Compare the files of a corpus with those of its snapshot, by content.

    Without a snapshot, every file is added. Files are hashed, and parsed only if one that was rejected before
    might be accepted now.

    Raises:
        CorpusError: no such corpus.
        SettingsError: its settings are invalid.
    """
    hashes = hash_files(store.found(name))
    if snapshot is None:
        return compare_files({}, hashes)
    files = snapshot.manifest.get("files")
    if files is None:
        return FileChanges(unchanged=len(hashes))
    before = {file["path"]: file.get("sha256") for file in files}
    # A file that no reader accepted before may be accepted now; only reading it shows that.
    if any(content and before.get(path, content) is None for path, content in hashes.items()):
        hashes = dict(read_corpus(store, name).files.select("path", "sha256").iter_rows())
    return compare_files(before, hashes)


def changed_settings(settings: CorpusSettings, snapshot: Published) -> list[Change]:
    """Compare settings with those of a snapshot, by dotted key."""
    return compare_values(
        settings_at_publication(settings, snapshot.manifest), _settings_of_manifest(settings)
    )


#: Settings of earlier releases that nothing reads any more.
_REMOVED = frozenset({"publishing.stale_after_hours"})


def settings_at_publication(settings: CorpusSettings, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in a manifest by dotted key; keys it lacks have their present defaults.

    A manifest without settings is assumed to be made with ``settings``.
    """
    if "settings" not in manifest:
        return _settings_of_manifest(settings)
    then = flatten(manifest["settings"])
    then = {key: redact(key, value) for key, value in then.items() if key not in _REMOVED}
    return _settings_of_manifest(CorpusSettings()) | then


def _settings_of_manifest(settings: CorpusSettings) -> dict[str, Any]:
    """Return settings in the form of a manifest, by dotted key."""
    return flatten(redacted_settings(settings.model_dump(mode="json")))


#: Least share of the published files that is gone, and most files now, relative to the published ones.
_GONE, _LEFT = 0.8, 0.2


def check_before_index(corpora: CorpusStore, warehouse: Warehouse, corpus: str) -> None:
    """Refuse to index a folder that has lost all or nearly all files since publication, or a corpus that
    another home publishes, before anything is paid for.

    Renamed files do not count as lost. No loss is refused if nothing is published or
    ``corpora.accept_removals`` is set.

    Raises:
        CorpusError: too many files are gone.
        StaleError: another home has published the corpus since this one did.
        SettingsError: the settings are invalid.
    """
    if shared := SharedPublisher.of(warehouse, corpus):
        # Where it does not answer, the publication will ask again.
        with suppress(ObjectStoreError):
            shared.check_stale()
    snapshot = published(warehouse, corpus)
    if snapshot is None or corpora.accept_removals:
        return
    before = {file["path"] for file in snapshot.manifest.get("files") or ()}
    now = {file.path for file in corpora.found(corpus)}
    if not _is_suspicious(len(before), len(before - now), len(now)):
        return
    # Hash files only now, to recognise renamed ones.
    removed = len(changed_files(corpora, corpus, snapshot).removed)
    if not _is_suspicious(len(before), removed, len(now)):
        return
    folder = corpora.folder(corpus)
    missing = f"{removed:,} of the {plural(len(before), 'file')} that corpus {corpus!r} was published with"
    raise CorpusError(
        f"{missing} are gone from {folder}, which contains {plural(len(now), 'file')} now; the published "
        "snapshots are unchanged. If its disk is not mounted, mount it, and run again; if they were "
        f"deleted on purpose, run: graphrag-dagster index {shlex.quote(corpus)} --accept-removals (in "
        "Dagster: accept_removals: true in the config of the resource corpora)"
    )


def _is_suspicious(before: int, gone: int, now: int) -> bool:
    return before > 0 and gone >= _GONE * before and now <= _LEFT * before


def cheap_fingerprint(corpora: CorpusStore, corpus: str) -> str:
    """Hash of path, size and modification time of every file that an index would read. Reads no file.

    Raises:
        CorpusError: no such corpus, or its folder cannot be listed.
        SettingsError: its settings are invalid.
        OSError: a file has just been deleted.
    """
    read = [file.location for file in corpora.found(corpus) if not file.problem]
    status = [(path, path.stat()) for path in (*read, *_files_of_settings(corpora, corpus))]
    return stable_id(*(f"{path} {file.st_size} {file.st_mtime_ns}" for path, file in status))


def content_fingerprint(corpora: CorpusStore, corpus: str) -> str:
    """Hash of path and content of every file that an index would read.

    Raises:
        CorpusError: no such corpus, or its folder cannot be listed.
        SettingsError: its settings are invalid.
        OSError: the settings have just been deleted.
    """
    settings = [path.read_bytes().hex() for path in _files_of_settings(corpora, corpus)]
    hashes = hash_files(corpora.found(corpus))
    return stable_id(*(f"{path} {content}" for path, content in hashes.items()), *settings)


def _files_of_settings(corpora: CorpusStore, corpus: str) -> list[Path]:
    """Return the files in the folders of a corpus that are no documents, but decide what is made of them."""
    places = [folder / name for folder in corpora.folders(corpus) for name in (SETTINGS_FILE, DECISIONS_FILE)]
    return [path for path in places if path.is_file()]


def changed_since_published(corpora: CorpusStore, warehouse: Warehouse, corpus: str) -> bool:
    """Whether files or settings differ from those of the current snapshot.

    True if nothing is published yet, or the snapshot is damaged. Reads every file.

    Raises:
        CorpusError: no such corpus.
        SettingsError: its settings are invalid.
    """
    try:
        snapshot = published(warehouse, corpus)
    except DamagedError:
        # Indexing publishes a new one.
        return True
    if snapshot is None or changed_settings(corpora.settings(corpus), snapshot):
        return True
    return bool(changed_files(corpora, corpus, snapshot))
