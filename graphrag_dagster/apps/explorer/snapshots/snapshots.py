"""The snapshots of a corpus that are kept."""

from dataclasses import dataclass

from graphrag_dagster.kernel.storage.published import Published, published, snapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a corpus.

    Attributes:
        version: hash of its content.
        published: when it became current, UTC in ISO 8601.
        run_id: the run that made it; null where it is not known.
        documents: how many there are.
        entities: how many there are.
        reports: how many there are.
        bytes: size of its file.
        current: it is the one that is read.
    """

    version: str
    published: str
    run_id: str | None
    documents: int
    entities: int
    reports: int
    bytes: int
    current: bool


def kept_snapshots(warehouse: Warehouse, corpus: str) -> list[Snapshot]:
    """Return the snapshots of a corpus that are kept, the one published last first.

    Raises:
        WarehouseError: what names the current one is damaged.
    """
    current = published(warehouse, corpus)
    return [snapshot_of(one, current) for one in snapshots(warehouse, corpus)]


def snapshot_of(one: Published, current: Published | None) -> Snapshot:
    """Return what is told of a snapshot."""
    return Snapshot(
        version=one.version,
        published=one.published,
        run_id=one.manifest.get("run_id"),
        documents=one.rows("corpus.documents"),
        entities=one.rows("graph.entities"),
        reports=one.rows("reports.community_reports"),
        bytes=one.file.stat().st_size if one.file.is_file() else 0,
        current=current is not None and one.version == current.version,
    )
