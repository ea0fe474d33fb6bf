"""Names of older snapshots that come only from undone decisions, and that no text contains any more."""

import json
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import duckdb

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.text.similarity import normalise

_TEXTS = (
    "select exists(from corpus.documents where contains(lower(text || ' ' || title), $name))",
    "select exists(from resolution.aliases where contains(lower(surface), $name) or lower(title) = $name)",
    "select exists(from graph.entities where lower(title) = $name)",
)


def said_names(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of which decisions speak, by their normalised form.

    Args:
        settings: of a corpus, as a manifest has them.
    """
    resolution = settings.get("resolution") or {}
    decisions = [one for verdict in ("same", "different") for one in resolution.get(verdict) or ()]
    return {normalise(name): name for one in decisions for name in one.get("names") or ()}


def snapshots_with_undone_names(
    warehouse: Warehouse, corpus: str, files: Iterable[Path], said: Set[str]
) -> list[Path]:
    """Return the snapshots in which a name stands that only a decision ever brings, and none does now.

    Args:
        warehouse: with the corpus's working file, of which the texts are asked.
        corpus: its name.
        files: manifests of the snapshots.
        said: normalised names of which decisions speak now.
    """
    told = {file: {key: name for key, name in _told(file).items() if key not in said} for file in files}
    names = {key: name for found in told.values() for key, name in found.items()}
    if not names:
        return []
    with warehouse.reading(corpus) as reader:
        gone = {key for key, name in names.items() if not _stands(reader.connection, name)}
    return [file for file, found in told.items() if gone.intersection(found)]


def _told(file: Path) -> dict[str, str]:
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        return said_names(manifest.get("settings") or {})
    except (OSError, ValueError, TypeError, AttributeError):
        # What cannot be read is dealt with as one that may have documents that are gone.
        return {}


def _stands(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    for query in _TEXTS:
        try:
            found = connection.execute(query, {"name": " ".join(name.split()).lower()}).fetchone()
        except duckdb.CatalogException:
            continue
        if found and found[0]:
            return True
    return False
