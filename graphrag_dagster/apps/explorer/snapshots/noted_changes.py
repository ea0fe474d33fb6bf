"""What an index changed, noted where the snapshot before it has to go: only of what is still there."""

from pydantic import TypeAdapter, ValidationError

from graphrag_dagster.apps.explorer.snapshots.changes import Changes, changes
from graphrag_dagster.kernel.storage.durable import write_durably
from graphrag_dagster.kernel.storage.published import Published, published
from graphrag_dagster.kernel.storage.published.derived_files import CHANGES
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_TOLD = TypeAdapter(Changes)


def note_changes(warehouse: Warehouse, corpus: str, before: Published, after: Published) -> None:
    """Note what differs between two snapshots of which the older is about to be deleted.

    Nothing is noted that stands in the older alone: of what went how many, of what changed in what respect.

    Raises:
        WarehouseError: one of the snapshots cannot be read.
        OSError: the note cannot be written.
    """
    told = changes(warehouse, corpus, before.version, after.version, of_older=False)
    place = CHANGES.place(after, after.version)
    place.parent.mkdir(exist_ok=True)
    write_durably(place, _TOLD.dump_json(told).decode())


def noted_changes(
    warehouse: Warehouse, corpus: str, before: str | None = None, after: str | None = None
) -> Changes | None:
    """Return what was noted of the current snapshot and the one before it; None where that is not asked for.

    Args:
        warehouse: where the snapshots are.
        corpus: the corpus.
        before: version of the older; default: whichever it was.
        after: version of the newer; default: the current one.
    """
    current = published(warehouse, corpus)
    if current is None or after not in {None, current.version}:
        return None
    try:
        text = CHANGES.place(current, current.version).read_text(encoding="utf-8")
        told = _TOLD.validate_json(text)
    except (FileNotFoundError, ValidationError):
        # Another version wrote it, in another form; what it told is no more to be had.
        return None
    return told if before in {None, told.before.version} else None
