"""Vectors of the passages in which a graph without texts is told; they stand in no table either."""

from dataclasses import replace

from graphrag_dagster.core.language.embedded_rows import embed_rows
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.text.embedder import Embedder


class PassageVectors:
    """Snapshots with a vector for each passage, one an embedder, each made when it is first asked for.

    Args:
        index: a graph told in words.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self._index = index
        self._made: dict[str, IndexSnapshot] = {}

    def by(self, embedder: Embedder) -> IndexSnapshot:
        """Return the snapshot with vectors by an embedder, which embeds all passages at the first call."""
        if embedder.name not in self._made:
            units = self._index.text_chunks
            vectors = embed_rows(units["text_unit_id"], units["text"], embedder, named="passages")
            self._made[embedder.name] = replace(self._index, unit_vectors=vectors)
        return self._made[embedder.name]
