"""The port to what says how well texts of a graph fit a question."""

from typing import Protocol

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.kernel.graph.verbalised import Verbalised
from graphrag_dagster.kernel.text.tokens import get_tokenizer


class PathScorer(Protocol):
    """Says how well nodes, relations, triples or paths fit a question."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a score: kind, model and version."""

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        """Return one finite score per candidate [n], higher is better; of any scale.

        A score may depend on the other candidates, but not on their order.
        """

    def tokens(self, candidates: Verbalised) -> int:
        """Return how many tokens of the candidates a model reads; 0 where there is none."""


_ENCODING = "cl100k_base"


def tokens_of(candidates: Verbalised) -> int:
    """Return the tokens of all candidates by the encoding that is counted by elsewhere, too."""
    return sum(get_tokenizer(_ENCODING).counts(candidates.texts))
