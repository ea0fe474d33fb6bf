"""The rerankers, as the settings choose them."""

from graphrag_dagster.catalogue.engines import CROSS_ENCODER
from graphrag_dagster.core.search.reranking.port import Reranker
from graphrag_dagster.engines.desk import Desk
from graphrag_dagster.settings import CorpusSettings


def none(_settings: CorpusSettings, _desk: Desk) -> None:
    """Nobody: text units stay as they are ranked."""


def lexical(_settings: CorpusSettings, _desk: Desk) -> Reranker:
    """Words that stand close together."""
    from graphrag_dagster.core.search.reranking.lexical import LexicalReranker

    return LexicalReranker()


def cross_encoder(settings: CorpusSettings, _desk: Desk) -> Reranker:
    """A cross-encoder of sentence-transformers on this machine."""
    from graphrag_dagster.core.search.reranking.cross_encoder import shared_cross_encoder

    return shared_cross_encoder(settings.search.reranker_model or CROSS_ENCODER)
