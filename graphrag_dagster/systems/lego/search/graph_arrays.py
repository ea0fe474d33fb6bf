"""The graph of a snapshot as arrays: made when it is first asked for, and opened without being read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.adjacency_arrays import FORMAT as PATHS_FORMAT
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, Prefilter, store_of
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.storage.published.derived_files import DerivedFile
from graphrag_dagster.kernel.storage.published.snapshot_manifest import reading
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse
from graphrag_dagster.kernel.tables.core_tables import ENTITIES, TRIPLES
from graphrag_dagster.systems.lego.subgraphs.community_partition import GraphPartition, partition_of
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import label_vectors, triple_vectors
from graphrag_dagster.systems.lego.subgraphs.text_vectors import TextVectors

Of = Literal["labels", "triples"]
_DIGITS = 12

#: Folders of arrays in which paths and answers are looked for.
PATHS = DerivedFile("paths", f"-{PATHS_FORMAT}", "the graph arrays")


@dataclass(frozen=True, slots=True)
class PathArrays:
    """Arrays of a graph: their folder, and the hash of the index that they are of."""

    folder: Path
    index: str


def path_store_of(warehouse: Warehouse, corpus: str, prefilter: Prefilter) -> PathStore:
    """Return the graph of a corpus's current snapshot as arrays; see :func:`path_arrays_of`."""
    return PathStore.open(path_arrays_of(warehouse, corpus, prefilter).folder)


def path_arrays_of(warehouse: Warehouse, corpus: str, prefilter: Prefilter) -> PathArrays:
    """Return the arrays of the graph of a corpus's current snapshot, made where they are not there yet.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.
        prefilter: relations that are left out; other ones make other arrays.

    Raises:
        WarehouseError: nothing has been published, or the arrays cannot be made.
        DamagedError: what was published cannot be read.
    """

    def write(reader: Reader, making: Path) -> None:
        store_of(reader.read(ENTITIES), reader.read(TRIPLES), prefilter).write(making)

    return _build_arrays(warehouse, corpus, _hash("prefilter", *_prefilter_lines(prefilter)), write)


def path_partition_of(warehouse: Warehouse, corpus: str, prefilter: Prefilter) -> GraphPartition:
    """Return the communities of the graph, which lie beside its arrays; see :func:`path_arrays_of`."""
    store = path_store_of(warehouse, corpus, prefilter)

    def write(_: Reader, making: Path) -> None:
        partition_of(store).write(making)

    variant = _hash("partition", *_prefilter_lines(prefilter))
    return GraphPartition.open(_build_arrays(warehouse, corpus, variant, write).folder, store)


def path_vectors_of(
    warehouse: Warehouse, corpus: str, prefilter: Prefilter, embedder: CorpusEmbedder, of: Of
) -> TextVectors:
    """Return the vectors of the graph's labels or triples, which lie beside its arrays.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.
        prefilter: relations that are left out.
        embedder: makes the vectors.
        of: of what they are.

    Raises:
        GraphragError: they would be too large.
        WarehouseError: see :func:`path_arrays_of`.
    """
    store = path_store_of(warehouse, corpus, prefilter)
    make, count = (label_vectors, len(store.labels)) if of == "labels" else (triple_vectors, store.edges)

    def write(_: Reader, making: Path) -> None:
        make(store, embedder).write(making, of)

    variant = _hash(of, embedder.name, *_prefilter_lines(prefilter))
    folder = _build_arrays(warehouse, corpus, variant, write).folder
    return TextVectors.open(folder, of, embedder.name, count)


def _build_arrays(
    warehouse: Warehouse, corpus: str, variant: str, write: Callable[[Reader, Path], None]
) -> PathArrays:
    with reading(warehouse, corpus) as (reader, snapshot):
        if snapshot is None:
            raise WarehouseError(
                f"nothing of corpus {corpus!r} has been published; run 'graphrag-dagster index {corpus}'"
            )
        folder = PATHS.place(snapshot, variant)

        def fill(making: Path) -> None:
            making.mkdir()
            write(reader, making)

        if not folder.is_dir():
            PATHS.make(warehouse, corpus, snapshot, folder, fill)
    return PathArrays(folder, snapshot.index)


def _prefilter_lines(prefilter: Prefilter) -> Iterator[str]:
    for kind in ("relations", "prefixes", "parts"):
        yield from (f"{kind} {one}" for one in sorted(set(getattr(prefilter, kind))))


def _hash(*parts: str) -> str:
    return stable_id(*parts)[:_DIGITS]
