"""Vectors of texts that are given, by the embedder of a corpus or by one that needs no corpus."""

import uuid
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.errors import QuestionError, SettingsError
from graphrag_dagster.kernel.catalogue.registry import embedders
from graphrag_dagster.kernel.models.cache.replies import User
from graphrag_dagster.kernel.models.embedder import CorpusEmbedder
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.settings.corpus import parse_settings
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.llm_cache import ReplyMemory
from graphrag_dagster.kernel.tasks.resource import Language

Vectors = NDArray[np.float32]


def embedders_here() -> list[str]:
    """Return the names of the embedders that need neither a corpus nor an endpoint."""
    return [one.name for one in embedders().values() if not one.asks_model]


def embed_here(name: str, texts: Sequence[str]) -> Vectors:
    """Return unit vectors of texts by an embedder of this machine, one a row.

    Raises:
        QuestionError: there is none of that name.
        EngineError: what it needs is not installed.
    """
    if name not in embedders_here():
        raise QuestionError(f"there is no embedder {name!r}; there are: {', '.join(embedders_here())}")
    settings = parse_settings({"embeddings": {"embedder": name}}, name)
    session = Language(memory=ReplyMemory(), corpora=CorpusStore()).session_of(
        settings, User(name, "ask", str(uuid.uuid4()))
    )
    return session.embedder().embed(texts)


def embedded(
    embedder: CorpusEmbedder, index: IndexSnapshot, texts: Sequence[str], *, queries: bool
) -> Vectors:
    """Return unit vectors of texts that can be compared with those of an index, one a row.

    Args:
        embedder: of the corpus.
        index: with the vectors.
        texts: what is embedded.
        queries: these are looked for, not found.

    Raises:
        SettingsError: another embedder made the vectors of the index.
        EndpointError: the model endpoint cannot be used.
    """
    if index.unit_vectors is not None:
        check_embedder(index.unit_vectors, embedder.name)
    return embedder.embed_queries(texts) if queries else embedder.embed(texts)


def check_embedder(vectors: pl.DataFrame, name: str) -> None:
    """Refuse vectors of an index that cannot be compared with those of an embedder.

    Raises:
        SettingsError: another embedder made them.
    """
    made_by = sorted(vectors["embedder"].unique())
    if made_by not in ([], [name]):
        raise SettingsError(
            f"the vectors of the index were made by {', '.join(made_by)}, but the settings say {name}; "
            "index the corpus again"
        )
