"""The port to an embedder, and the embedder of a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from graphrag_dagster.kernel.catalogue.engines import Prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a vector: kind, model and version."""

    @property
    def at_once(self) -> int:
        """Number of texts per call that keeps it busy."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array [len(texts), dimension] of L2-normalised float32 rows; a blank text gives zeros."""


class CorpusEmbedder:
    """The embedder of a corpus: its vectors of queries and of documents can be compared with each other.

    Args:
        embedder: makes the vectors.
        prefixes: by what a text is; part of the name, since they determine vectors.
    """

    def __init__(self, embedder: Embedder, prefixes: Prefixes | None = None) -> None:
        self._embedder = embedder
        self._prefixes = prefixes or Prefixes()

    @property
    def name(self) -> str:
        """Identifies everything that determines a vector; see :class:`Embedder`."""
        return self._prefixes.named(self._embedder.name)

    @property
    def at_once(self) -> int:
        """Number of texts per call that keeps it busy."""
        return self._embedder.at_once

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of texts that are found: those of an index; see :class:`Embedder`."""
        return self._embedder.embed(self._prefixes.of_documents(texts))

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of texts that are looked for: questions, and what stands for one."""
        return self._embedder.embed(self._prefixes.of_queries(texts))
