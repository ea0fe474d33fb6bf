"""A model that reads question and text together."""

from graphrag_dagster.core.paths.scoring.counting import tokens_of
from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.search.reranking.cross_encoder import CrossEncoderReranker
from graphrag_dagster.core.search.reranking.reordering import Sought
from graphrag_dagster.core.text.verbalised import Verbalised


class CrossEncoderScorer:
    """The number of a cross-encoder for question and text.

    Args:
        encoder: gives the numbers.
    """

    def __init__(self, encoder: CrossEncoderReranker) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """That of the cross-encoder."""
        return self._encoder.name

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        """Return the model's number for each candidate [n]; see the port."""
        return self._encoder.scores(Sought(question), candidates.texts)

    def tokens(self, candidates: Verbalised) -> int:
        """Return the tokens of all candidates, about; see :func:`tokens_of`."""
        return tokens_of(candidates)
