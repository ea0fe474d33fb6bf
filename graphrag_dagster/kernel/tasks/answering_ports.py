"""The ports of answering: rating, follow-up questions, routing, queries, contexts, judging support."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, OfEngine, Point, Quote, Turn, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphrag_dagster.kernel.catalogue.engines import Verdict


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


class FollowUpExplorer(OfEngine, Protocol):
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


@dataclass(frozen=True, slots=True)
class WrittenContext:
    """What is known of a question; blank where nothing is, or where no reply could be used.

    ``problem`` says why no reply could be used, else None.
    """

    text: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class ContextWriter(OfEngine, Protocol):
    """Writes contexts of its own knowledge."""

    def write(self, question: str, history: Sequence[Turn] = ()) -> WrittenContext:
        """Return a context for a question of a conversation, without answering it."""


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """A query that was written before, and what the database said of it."""

    text: str
    error: str


@dataclass(frozen=True, slots=True)
class WrittenQuery:
    """A query, and what it asks in words; without text where there is none, which ``problem`` explains."""

    text: str
    reading: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class QueryWriter(OfEngine, Protocol):
    """Writes queries; it never sees what they give."""

    def write(self, question: str, tables: str, types: str, failed: Sequence[FailedQuery]) -> WrittenQuery:
        """Return a query that answers a question.

        Args:
            question: as asked.
            tables: which there are, with their columns; or nodes and relations, with their properties.
            types: of entities in the corpus, one a line.
            failed: what was written before, and why it failed.
        """


@dataclass(frozen=True, slots=True)
class Routed:
    """The name of a search method, and why; None where there is no usable reply, ``problem`` says why."""

    method: str | None
    reason: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class Router(OfEngine, Protocol):
    """Chooses search methods."""

    def route(self, question: str, methods: Mapping[str, str], names: Sequence[str]) -> Routed:
        """Return which of the search methods suits a question.

        Args:
            question: as asked.
            methods: what each is for, by name.
            names: the names in the question that the index knows.
        """


@dataclass(frozen=True, slots=True)
class Cited:
    """A statement with the words that it cites; ``about`` has the names of what these are about."""

    statement: str
    words: tuple[str, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class SupportOf:
    """Whether words support a statement.

    ``score``: 0–1, how probable it is that a person would call it supported; None where who judges does not
    tell. ``reason``: in a few words why it is not wholly supported, else blank. ``problem``: why who was
    asked could not say, else None; the rest is then what rules say.
    """

    verdict: Verdict
    score: float | None
    reason: str = ""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One :class:`SupportOf` for each statement, in their order, and what was used for it."""

    items: tuple[SupportOf, ...]
    usage: Usage = field(default_factory=Usage)


class SupportJudge(Protocol):
    """Says of statements whether the words they cite support them."""

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Return what holds of each statement; each has words, and none is a quotation of them."""


def rating_of(prominence: float) -> float:
    """Return the rating, 0…10, of a report by the prominence of its community, 0…1."""
    return round(10 * min(max(prominence, 0.0), 1.0), 1)
