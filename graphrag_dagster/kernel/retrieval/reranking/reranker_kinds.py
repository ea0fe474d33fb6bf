"""The rerankers, as the settings choose them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.catalogue.engines import CROSS_ENCODER
from graphrag_dagster.kernel.retrieval.reranking.reordering import Reranker, Sought, reordered

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphrag_dagster.kernel.models.probing.probes import Finding
    from graphrag_dagster.kernel.tasks.session import Session

_QUESTION = Sought("Who dredged the harbour?")
_TEXTS = ("Bread is baked at night.", "The harbour was dredged by Selma Dray.")


def none(_session: Session) -> None:
    """Nobody: text units stay as they are ranked."""


def lexical(_session: Session) -> Reranker:
    """The words of sentences, and what stands around them."""
    from graphrag_dagster.kernel.retrieval.reranking.reordering import LexicalReranker

    return LexicalReranker()


def cross_encoder(session: Session) -> Reranker:
    """A cross-encoder of sentence-transformers on this machine."""
    from graphrag_dagster.kernel.retrieval.reranking.cross_encoder import shared_cross_encoder

    return shared_cross_encoder(session.settings.search.reranker_model or CROSS_ENCODER)


def examined(make: Callable[[], Reranker | None]) -> list[Finding]:
    """Return whether what reranks can be loaded and scores texts; nothing where nobody reranks."""
    from graphrag_dagster.kernel.models.probing.probes import Finding
    from graphrag_dagster.kernel.models.probing.probing import RERANKER

    try:
        reranker = make()
        if reranker is None:
            return []
        reordered(_TEXTS, str, _QUESTION, reranker, len(_TEXTS))
        return [Finding(RERANKER, "works", f"{reranker.name}: a score for each text")]
    except GraphragError as error:
        mend = "mend it, or set search.reranker to lexical or none, which need no model"
        return [Finding(RERANKER, "fails", str(error), mend)]
