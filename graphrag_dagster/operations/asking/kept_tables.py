"""The tables of a large snapshot as files of which a question reads what it needs."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.kept import kept, mapped_frame, write_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from graphrag_dagster.core.coterag.stored import CoteragTables
    from graphrag_dagster.core.search.kept import Shelf

_COTERAG = "coterag_"
#: The names of all frames, so that one that is missing is missed.
_NAMES = "names"
#: Vectors lie in the order in which what they are of is searched, so that they need not be copied.
_VECTORS = {"unit_vectors": ("text_chunks", "text_unit_id"), "entity_vectors": ("entities", "entity_id")}


@dataclass(frozen=True, slots=True)
class KeptTables:
    """The frames of a snapshot by the names of its fields; those of CoTeRAG-S begin with ``coterag_``."""

    frames: Mapping[str, pl.DataFrame]

    @classmethod
    def of(cls, index: IndexSnapshot) -> KeptTables:
        """Return the frames that a snapshot has."""
        own = {one.name: getattr(index, one.name) for one in fields(index)}
        if index.coterag is not None:
            own |= {
                f"{_COTERAG}{one.name}": getattr(index.coterag, one.name) for one in fields(index.coterag)
            }
        frames = {name: frame for name, frame in own.items() if isinstance(frame, pl.DataFrame)}
        for name, (table, key) in _VECTORS.items():
            if name in frames:
                frames[name] = _in_order(frames[name], frames[table], key)
        return cls(frames)

    def index(self) -> IndexSnapshot:
        """Return the snapshot of the frames."""
        own: dict[str, Any] = {
            name: frame for name, frame in self.frames.items() if not name.startswith(_COTERAG)
        }
        return replace(IndexSnapshot(**own), coterag=self._coterag())

    def write(self, folder: Path) -> None:
        """Write them into a folder that is there; see :meth:`opened`."""
        for name, frame in {**self.frames, _NAMES: pl.DataFrame({"name": list(self.frames)})}.items():
            write_frame(folder, name, frame)

    @classmethod
    def opened(cls, folder: Path) -> KeptTables:
        """Return what was written into a folder; large frames are mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: a file is damaged.
        """
        return cls({name: mapped_frame(folder, name) for name in mapped_frame(folder, _NAMES)["name"]})

    def _coterag(self) -> CoteragTables | None:
        own: dict[str, Any] = {
            name.removeprefix(_COTERAG): frame
            for name, frame in self.frames.items()
            if name.startswith(_COTERAG)
        }
        if not own:
            return None
        from graphrag_dagster.core.coterag.stored import CoteragTables

        return CoteragTables(**own)


def kept_index(shelf: Shelf, read: Callable[[], IndexSnapshot]) -> IndexSnapshot:
    """Return a snapshot as its tables lie on a shelf, read where they do not."""
    made = kept(
        shelf,
        "tables",
        lambda: KeptTables.of(read()),
        KeptTables,
        lambda folder, tables: tables.write(folder),
        KeptTables.opened,
    )
    return made.index()


def _in_order(vectors: pl.DataFrame, rows: pl.DataFrame, key: str) -> pl.DataFrame:
    ordered = rows.select(key, "human_readable_id").sort("human_readable_id", key).select(key)
    own = vectors.join(ordered.with_row_index("place"), on=key, how="left", maintain_order="left")
    return own.sort("place", key, nulls_last=True).drop("place")
