"""The embedders that settings can choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_dagster.errors import EngineError

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.embedders import Embedder
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider


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

    name, own = session.settings.embeddings.model, session.settings.model.for_role("embed")
    if not name:
        raise EngineError("embeddings.embedder is endpoint: set embeddings.model to the name of its model")
    return CachedEmbedder(name, own, session.account)
