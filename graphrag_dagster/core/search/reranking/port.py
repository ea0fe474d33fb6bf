"""The port to what says how well texts fit a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from graphrag_dagster.core.ranks import Scores


@dataclass(frozen=True, slots=True)
class Sought:
    """What text units are looked for by.

    Attributes:
        question: with those before it in the conversation, each on a line of its own, the one asked last.
        stems: of its words that have a meaning of their own, each once.
        weights: how much each stem counts: the rarer it is among the text units of the corpus, the more.
    """

    question: str
    stems: tuple[str, ...]
    weights: tuple[float, ...]


class Reranker(Protocol):
    """Says how well texts fit a question; what it says depends on the question and the text alone."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a score: kind, model and version."""

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one finite score per text [n], higher is better; of any scale.

        Args:
            sought: the question.
            texts: of text units, each below the title of its document, in the order in which they were found.
        """
