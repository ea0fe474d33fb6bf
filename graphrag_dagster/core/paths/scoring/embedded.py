"""Vectors of whole texts by any embedder."""

import numpy as np

from graphrag_dagster.core.language.embedders import CachingEmbedder
from graphrag_dagster.core.paths.scoring.counting import tokens_of
from graphrag_dagster.core.ranks import Scores, cosines
from graphrag_dagster.core.text.embedder import CorpusEmbedder
from graphrag_dagster.core.text.verbalised import Verbalised

_MOST = 100_000
# Models give the last bits of a vector by what else they read with the text.
_DIGITS = 5


class EmbeddedScorer:
    """Cosine of question and text; vectors of texts are remembered.

    Args:
        embedder: makes vectors of questions and of texts.
        most: vectors remembered; when there are more, all are forgotten.
    """

    def __init__(self, embedder: CorpusEmbedder, most: int = _MOST) -> None:
        self._embedder = embedder
        self._remembering = CachingEmbedder(embedder, most)

    @property
    def name(self) -> str:
        """That of the embedder."""
        return self._embedder.name

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        """Return the cosine of each candidate [n], to 5 digits after the point; see the port."""
        if not len(candidates):
            return np.zeros(0)
        (asked,) = self._embedder.embed_queries([question])
        return cosines(self._remembering.embed(candidates.texts), asked).round(_DIGITS)

    def tokens(self, candidates: Verbalised) -> int:
        """Return the tokens of all candidates, about; see :func:`tokens_of`."""
        return tokens_of(candidates)
