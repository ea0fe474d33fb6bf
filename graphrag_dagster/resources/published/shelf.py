"""What questions need of a snapshot, made by the first that needs it, and mapped by all that come later."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.resources.published.beside import SEARCHED_BY
from graphrag_dagster.resources.published.manifest import Published
from graphrag_dagster.resources.warehouse import Warehouse

#: Packages that decide what is made of the same tables.
_MAKERS = ("bm25s", "graphrag-dagster", "PyStemmer", "tiktoken")
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class SnapshotShelf:
    """A :class:`~graphrag_dagster.core.search.kept.Shelf` beside a snapshot, with which it is deleted.

    Attributes:
        warehouse: where the tables are.
        corpus: the corpus.
        snapshot: that things are made of.
    """

    warehouse: Warehouse
    corpus: str
    snapshot: Published

    def folder(self, name: str, write: Callable[[Path], None]) -> Path | None:
        """Return the folder of a thing; None where nothing can be written there."""
        place = SEARCHED_BY.place(self.snapshot, f"{name}{_makers()}")

        def fill(making: Path) -> None:
            making.mkdir()
            write(making)

        if not place.is_dir():
            try:
                SEARCHED_BY.make(self.warehouse, self.corpus, self.snapshot, place, fill)
            except WarehouseError:
                return None
        # It went with its snapshot while it was made.
        return place if place.is_dir() else None


@cache
def _makers() -> str:
    return stable_id(*(f"{name} {version(name)}" for name in _MAKERS))[:_DIGITS]
