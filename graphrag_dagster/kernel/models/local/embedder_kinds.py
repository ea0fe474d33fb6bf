"""The embedders that settings can choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_dagster.errors import EngineError

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.embedder import Embedder
    from graphrag_dagster.kernel.tasks.session import Session


def static(_session: Session) -> Embedder:
    """Packaged static vectors."""
    from graphrag_dagster.kernel.models.local.embedders import StaticEmbedder

    return StaticEmbedder()


def sentence_transformer(session: Session) -> Embedder:
    """A sentence-transformers model on this machine."""
    from graphrag_dagster.kernel.models.local.embedders import shared_sentence_transformer

    return shared_sentence_transformer(session.settings.embeddings.model)


def endpoint(session: Session) -> Embedder:
    """The embedding model of the endpoint; a text is sent once.

    Raises:
        EngineError: the settings name no model.
    """
    from graphrag_dagster.kernel.models.cache.models import RememberingEmbedder
    from graphrag_dagster.kernel.models.endpoint.embeddings import OpenAIEmbedder

    name, own = session.settings.embeddings.model, session.settings.model.for_role("embed")
    if not name:
        raise EngineError("embeddings.embedder is endpoint: set embeddings.model to the name of its model")
    return RememberingEmbedder(
        lambda arrived: OpenAIEmbedder(name, own, arrived=arrived), own, session.account
    )
