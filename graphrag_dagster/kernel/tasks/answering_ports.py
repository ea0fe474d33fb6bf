"""The ports of answering: rating, follow-up questions, routing, queries, contexts, support, reranking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from graphrag_dagster.kernel.catalogue.tasks import LLM, Task, prompt_pairs
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, OfEngine, Point, Quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphrag_dagster.kernel.catalogue.engines import Verdict
    from graphrag_dagster.kernel.common.stable_values import Scores
    from graphrag_dagster.kernel.text.prompt_templates import Turn


#: The highest rating of a report; 0 is the lowest.
HIGHEST_RATING = 5


@dataclass(frozen=True, slots=True)
class Rating:
    """The relevance of a report to a question, 0–5; None if unknown, and ``problem`` says why.

    A report without a rating counts as relevant, so that nothing is lost.
    """

    score: int | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BatchRatings:
    """The ratings of the reports of one batch, in their order, and their joint usage."""

    ratings: tuple[Rating, ...]
    usage: Usage = field(default_factory=Usage)


class ReportRater(OfEngine, Protocol):
    """Rates the relevance of reports to a question."""

    def rate(
        self, question: str, batches: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[BatchRatings]:
        """Return the ratings of each batch; ``rendered[i]`` is batch i as shown in the prompt.

        The reports of each batch have the ids 1…n.
        """


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A follow-up question with its context, as rows and as shown in the prompt."""

    question: str
    rows: Sequence[ContextUnit]
    rendered: str


@dataclass(frozen=True, slots=True)
class Exploration:
    """An intermediate answer, its helpfulness for the main question, 0–100, and follow-up questions.

    ``text`` cites rows of its own context as ``[Data: Sources (3)]``. ``quotes`` (extractive engine) are
    triples of a sentence, the id of its row and its position; ``points`` are the source of the text.
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
    """Answers from part of the index, and proposes follow-up questions."""

    def primer(self, question: str, rows: Sequence[ContextUnit], rendered: str, most: int) -> Exploration:
        """Answer a question from the reports nearest to it, with at most ``most`` follow-up questions."""

    def follow(self, asked: Sequence[str], steps: Sequence[FollowUp], most: int) -> list[Exploration]:
        """Answer each follow-up question from its own context.

        Args:
            asked: all questions so far, including those of ``steps``; the first is the main question.
            steps: the follow-up questions, independent of each other.
            most: most follow-up questions of each answer.
        """


@dataclass(frozen=True, slots=True)
class WrittenContext:
    """A model's knowledge about a question; blank if it has none, or if the reply could not be used.

    ``problem`` says why the reply could not be used, else None.
    """

    text: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class ContextWriter(OfEngine, Protocol):
    """Writes contexts from a model's own knowledge."""

    def write(self, question: str, history: Sequence[Turn] = ()) -> WrittenContext:
        """Return a context for a question of a conversation, without answering it."""


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """An earlier query, and the error message of the database."""

    text: str
    error: str


@dataclass(frozen=True, slots=True)
class WrittenQuery:
    """A query, and its meaning in words; if the text is blank, ``problem`` says why."""

    text: str
    reading: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class QueryWriter(OfEngine, Protocol):
    """Writes queries; it never sees their results."""

    def write(self, question: str, tables: str, types: str, failed: Sequence[FailedQuery]) -> WrittenQuery:
        """Return a query that answers a question.

        Args:
            question: as asked.
            tables: the tables with their columns, or the nodes and relations with their properties.
            types: entity types of the corpus, one a line.
            failed: earlier queries, and why they failed.
        """


@dataclass(frozen=True, slots=True)
class Routed:
    """The name of the chosen search method, and why; None without a usable reply, and ``problem`` says
    why.
    """

    method: str | None
    reason: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class Router(OfEngine, Protocol):
    """Chooses a search method."""

    def route(self, question: str, methods: Mapping[str, str], names: Sequence[str]) -> Routed:
        """Return the search method that suits a question.

        Args:
            question: as asked.
            methods: what each method is for, by name.
            names: the names in the question that the index knows.
        """


@dataclass(frozen=True, slots=True)
class Cited:
    """A statement with the words it cites; ``about`` has the names of their subjects."""

    statement: str
    words: tuple[str, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class SupportOf:
    """Whether words support a statement.

    ``score``: probability, 0–1, that a person would call it supported; None if the judge gives none.
    ``reason``: a few words on why it is not fully supported, else blank. ``problem``: why the judge's reply
    could not be used, else None; the verdict is then that of the rules.
    """

    verdict: Verdict
    score: float | None
    reason: str = ""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One :class:`SupportOf` for each statement, in their order, and the usage."""

    items: tuple[SupportOf, ...]
    usage: Usage = field(default_factory=Usage)


class SupportJudge(Protocol):
    """Judges whether the cited words support a statement."""

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Return a verdict on each statement. Each has words, and none is a quotation of them."""


SUPPORT_JUDGE: Task[SupportJudge | None] = Task(
    "support_judge",
    "search",
    "judge",
    prompt_pairs("judge_support"),
    waited_for=True,
    done_by=(LLM,),
)


def rating_of(prominence: float) -> float:
    """Return a report's rating, 0–10, from the prominence of its community, 0–1."""
    return round(10 * min(max(prominence, 0.0), 1.0), 1)


@dataclass(frozen=True, slots=True)
class Sought:
    """The query by which text units were found.

    Attributes:
        question: with earlier questions of the conversation, one per line, the current one last.
        length: how small text units are within their documents, 0 (the whole) to 1, on average.
        followed: whether units were found by following the question through the graph, rather than by an
            explicitly chosen lexical or vector search.
    """

    question: str
    length: float = 1.0
    followed: bool = True


class Reranker(Protocol):
    """Scores how well texts match a question; a score depends only on the question and the text."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a score: kind, model and version."""

    def counts(self, sought: Sought) -> float:
        """Return the weight of the order by scores relative to the original order.

        With 0 no scores are requested.
        """

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        """Return one finite score per text [n], higher is better, on any scale.

        Args:
            sought: the query.
            texts: text units, each below the title of its document, in their original order.
        """
