"""The port to an embedder, its settings for a corpus, and the embedders that settings can choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.catalogue.engines import Prefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


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


def static_embedder(_session: TaskProvider) -> Embedder:
    """Packaged static vectors."""
    from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder

    return StaticEmbedder()


def minilm_embedder(_session: TaskProvider) -> Embedder:
    """Packaged all-MiniLM-L6-v2 on onnxruntime."""
    from graphrag_dagster.kernel.models.minilm_embedder import MinilmEmbedder

    return MinilmEmbedder()


def multilingual_e5_embedder(_session: TaskProvider) -> Embedder:
    """Packaged multilingual-e5-small."""
    from graphrag_dagster.kernel.models.multilingual_e5_embedder import MultilingualE5Embedder

    return MultilingualE5Embedder()


def sentence_transformer_embedder(session: TaskProvider) -> Embedder:
    """A sentence-transformers model on this machine."""
    from graphrag_dagster.kernel.models.local_embedders import shared_sentence_transformer

    return shared_sentence_transformer(session.settings.embeddings.model)


def endpoint(session: TaskProvider) -> Embedder:
    """The embedding model of the endpoint; a text is sent once.

    Raises:
        EngineError: the settings name no model.
    """
    from graphrag_dagster.kernel.models.cache.cached_embedder import CachedEmbedder
    from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder

    name, own = session.settings.embeddings.model, session.settings.model.for_role("embed")
    if not name:
        raise EngineError("embeddings.embedder is endpoint: set embeddings.model to the name of its model")
    return CachedEmbedder(lambda arrived: OpenAIEmbedder(name, own, arrived=arrived), own, session.account)
