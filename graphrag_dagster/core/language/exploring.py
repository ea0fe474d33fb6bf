"""The ports of two ways of answering: rating reports, and asking on from what was found."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphrag_dagster.core.language.tasks import ContextUnit, OfEngine, Point, Quote, Usage

#: The highest rating of a report; 0 is the lowest.
HIGHEST_RATING = 5


@dataclass(frozen=True, slots=True)
class Rating:
    """How much a report has to do with a question, 0–5; None where that is not known, which ``problem`` says.

    A report without a rating counts as relevant, so that nothing is lost.
    """

    score: int | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BatchRatings:
    """The ratings of the reports of one batch, in their order, and what they cost together."""

    ratings: tuple[Rating, ...]
    usage: Usage = field(default_factory=Usage)


class ReportRater(OfEngine, Protocol):
    """Says of reports whether they have to do with a question."""

    def rate(
        self, question: str, batches: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[BatchRatings]:
        """Return the ratings of each batch; ``rendered[i]`` is batch i as the prompt shows it.

        The ids of the reports are 1…n in each batch.
        """


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A follow-up question with the context that was found for it, as rows and as the prompt shows them."""

    question: str
    rows: Sequence[ContextUnit]
    rendered: str


@dataclass(frozen=True, slots=True)
class Exploration:
    """An intermediate answer with its helpfulness for the main question, 0–100, and what to ask next.

    ``text`` cites rows of its own context as ``[Data: Sources (3)]``; ``quotes`` (extractive engine) are
    sentence, id of the row, where its words stand, and ``points`` are what the text is laid out from.
    ``problem`` says why a reply could not be used.
    """

    text: str
    score: int
    follow_ups: tuple[str, ...] = ()
    quotes: tuple[tuple[str, int, Quote | None], ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)
    points: tuple[Point, ...] = ()


class Explorer(OfEngine, Protocol):
    """Answers from a part of what there is, and says what to ask next."""

    def primer(self, question: str, rows: Sequence[ContextUnit], rendered: str, most: int) -> Exploration:
        """Answer a question from the reports nearest to it, with at most ``most`` follow-up questions."""

    def follow(self, asked: Sequence[str], steps: Sequence[FollowUp], most: int) -> list[Exploration]:
        """Answer each follow-up question from its own context.

        Args:
            asked: all questions so far, those of ``steps`` included; the first is the main question.
            steps: the follow-up questions, which know nothing of each other.
            most: follow-up questions of each answer.
        """
