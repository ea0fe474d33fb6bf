"""The graph of a snapshot as arrays: made when it is first asked for, and opened without being read."""

from dataclasses import dataclass
from pathlib import Path

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.paths.prefilter import Prefilter
from graphrag_dagster.core.paths.store import PathStore, store_of
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.resources.published.beside import PATHS
from graphrag_dagster.resources.published.reading import reading
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import ENTITIES, TRIPLES

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class PathArrays:
    """Arrays of a graph: their folder, and the hash of the index that they are of."""

    folder: Path
    index: str


def path_store_of(warehouse: Warehouse, corpus: str, prefilter: Prefilter) -> PathStore:
    """Return the graph of a corpus's current snapshot as arrays; see :func:`path_arrays_of`."""
    return PathStore.opened(path_arrays_of(warehouse, corpus, prefilter).folder)


def path_arrays_of(warehouse: Warehouse, corpus: str, prefilter: Prefilter) -> PathArrays:
    """Return the arrays of the graph of a corpus's current snapshot, made where it is not there yet.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.
        prefilter: relations that are left out; other ones make other arrays.

    Raises:
        WarehouseError: nothing has been published, or the arrays cannot be made.
        DamagedError: what was published cannot be read.
    """
    with reading(warehouse, corpus) as (reader, snapshot):
        if snapshot is None:
            raise WarehouseError(
                f"nothing of corpus {corpus!r} has been published; run 'graphrag-dagster index {corpus}'"
            )
        folder = PATHS.place(snapshot, _hash(prefilter))

        def write(making: Path) -> None:
            making.mkdir()
            store_of(reader.read(ENTITIES), reader.read(TRIPLES), prefilter).write(making)

        if not folder.is_dir():
            PATHS.make(warehouse, corpus, snapshot, folder, write)
    return PathArrays(folder, snapshot.index)


def _hash(prefilter: Prefilter) -> str:
    return stable_id(
        "prefilter",
        *(
            f"{kind} {one}"
            for kind in ("relations", "prefixes", "parts")
            for one in sorted(set(getattr(prefilter, kind)))
        ),
    )[:_DIGITS]
