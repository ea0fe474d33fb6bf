"""The embedders, as the settings choose them."""

from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.engines.desk import Desk
from graphrag_dagster.errors import EngineError
from graphrag_dagster.settings import CorpusSettings


def static(_settings: CorpusSettings, _desk: Desk) -> Embedder:
    """Packaged static vectors."""
    from graphrag_dagster.core.language.embedders import StaticEmbedder

    return StaticEmbedder()


def sentence_transformer(settings: CorpusSettings, _desk: Desk) -> Embedder:
    """A sentence-transformers model on this machine."""
    from graphrag_dagster.core.language.embedders import shared_sentence_transformer

    return shared_sentence_transformer(settings.embeddings.model)


def endpoint(settings: CorpusSettings, desk: Desk) -> Embedder:
    """The embedding model of the endpoint; a text is sent once.

    Raises:
        EngineError: the settings name no model.
    """
    from graphrag_dagster.model_calls.endpoint.embeddings import OpenAIEmbedder
    from graphrag_dagster.model_calls.memory.models import RememberingEmbedder

    if not settings.embeddings.model:
        raise EngineError("embeddings.embedder is endpoint: name its model in embeddings.model")
    name, own = settings.embeddings.model, settings.model.for_role("embed")
    return RememberingEmbedder(lambda arrived: OpenAIEmbedder(name, own, arrived=arrived), own, desk.account)
