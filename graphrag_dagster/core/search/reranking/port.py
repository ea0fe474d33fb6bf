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
        length: how little of its document a text unit of the corpus is, 0 (all of it) to 1, on average.
        followed: whether the units were found by following the question over the graph, rather than as it
            was asked to find them, by words or vectors.
    """

    question: str
    length: float = 1.0
    followed: bool = True


class Reranker(Protocol):
    """Says how well texts fit a question; what it says depends on the question and the text alone."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a score: kind, model and version."""

    def counts(self, sought: Sought) -> float:
        """Return how much the order by the scores counts against that in which the texts were found.

        1: as much; 0: not at all, and no scores are asked for.
        """

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one finite score per text [n], higher is better; of any scale.

        Args:
            sought: the question.
            texts: of text units, each below the title of its document, in the order in which they were found.
        """
