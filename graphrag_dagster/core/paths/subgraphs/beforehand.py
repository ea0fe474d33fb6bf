"""What some extractions need of a graph, made when it is first needed, and once."""

from collections.abc import Callable
from threading import Lock

from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.core.paths.subgraphs.nearest import label_vectors, triple_vectors
from graphrag_dagster.core.paths.subgraphs.partition import Partition, partition_of
from graphrag_dagster.core.paths.subgraphs.vectors import TextVectors
from graphrag_dagster.core.text.embedder import CorpusEmbedder


class Beforehand:
    """Communities and vectors of a graph, remembered; several threads may ask.

    Args:
        store: the graph.
        embedder: makes the vectors; None: there are none.
    """

    def __init__(self, store: PathStore, embedder: CorpusEmbedder | None) -> None:
        self._store, self._embedder, self._lock = store, embedder, Lock()
        self._partitions: dict[int, Partition] = {}
        self._vectors: dict[str, TextVectors] = {}

    def partition(self, options: PathOptions) -> Partition | None:
        """Return the communities, where the extraction looks into some of them."""
        if options.extraction != "partition":
            return None
        with self._lock:
            if options.seed not in self._partitions:
                self._partitions[options.seed] = partition_of(self._store, seed=options.seed)
            return self._partitions[options.seed]

    def vectors(self, options: PathOptions) -> TextVectors | None:
        """Return the vectors of the labels or triples, where the extraction looks through some.

        Raises:
            GraphragError: they would be larger than allowed.
        """
        if options.extraction == "node_vectors":
            return self._made("node_vectors", label_vectors)
        if options.extraction == "triple_vectors":
            return self._made("triple_vectors", triple_vectors)
        return None

    def _made(
        self, name: str, make: Callable[[PathStore, CorpusEmbedder], TextVectors]
    ) -> TextVectors | None:
        if self._embedder is None:
            return None
        with self._lock:
            if name not in self._vectors:
                self._vectors[name] = make(self._store, self._embedder)
            return self._vectors[name]
