"""Published snapshots: read-only copies of a corpus's tables.

A run writes the warehouse, and readers use the snapshot of the last complete run, so neither waits for the
other. The folder ``published/<corpus>`` beside the warehouse contains ``<version>.duckdb``, which never
changes, ``<version>.json``, its manifest, and ``current.json``, which names the current version.
"""

from graphrag_dagster.kernel.storage.published.provenance import Accounts, SnapshotProvenance
from graphrag_dagster.kernel.storage.published.snapshot_contents import RESULTS, SEARCHED
from graphrag_dagster.kernel.storage.published.snapshot_manifest import (
    Published,
    folder_of,
    published,
    published_here,
    reading,
    snapshots,
)
from graphrag_dagster.kernel.storage.published.snapshot_publishing import publish, rollback

__all__ = [
    "RESULTS",
    "SEARCHED",
    "Accounts",
    "Published",
    "SnapshotProvenance",
    "folder_of",
    "publish",
    "published",
    "published_here",
    "reading",
    "rollback",
    "snapshots",
]
