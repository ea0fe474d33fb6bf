"""Differences of a corpus's files and settings from the published state."""

from collections.abc import Mapping
from typing import Any

from graphrag_dagster.kernel.common.changes import (
    Change,
    FileChanges,
    compare_files,
    compare_values,
    flattened,
)
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.settings.credentials import redacted, redacted_settings
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.published import Published


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
