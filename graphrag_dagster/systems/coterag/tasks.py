"""The ports of CoTeRAG-S: who summarises communities, routes questions, answers from evidence, validates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from graphrag_dagster.kernel.catalogue.tasks import LLM, Task, prompt_pairs
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tasks.answering_ports import ContextWriter
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Engine, Layout, OfEngine, Quote

#: What a model replies where the context is not enough, as all of its reply.
SEARCH_MORE = "SEARCH_MORE"

Route: TypeAlias = Literal["general", "specific"]
Validity: TypeAlias = Literal["ok", "insufficient"]


@dataclass(frozen=True, slots=True)
class SummaryEntity:
    """A member of a community; ``degree`` counts its neighbours inside."""

    title: str
    type: str
    degree: int


@dataclass(frozen=True, slots=True)
class SummaryTriple:
    """A triple inside a community: titles of its ends, and the sum of their degrees inside."""

    head: str
    relation: str
    tail: str
    combined_degree: int

    @property
    def text(self) -> str:
        """The triple as a sentence."""
        return f"{self.head} {self.relation} {self.tail}."


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence of a text unit that names members; ``triples`` are places of those whose ends it names."""

    text: str
    quote: Quote
    triples: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """All that a summary of a community may be made of.

    Attributes:
        community_id: of the community.
        entities: best linked inside first.
        triples: of the highest combined degree first.
        terms: frequent words of its sentences, most frequent first.
        sentences: in the order of the corpus.
        tiny: it is too small to be summarised; a template lists its triples.
    """

    community_id: str
    entities: tuple[SummaryEntity, ...]
    triples: tuple[SummaryTriple, ...]
    terms: tuple[str, ...] = ()
    sentences: tuple[SourceSentence, ...] = ()
    tiny: bool = False

    def exact_names(self, most: int) -> tuple[str, ...]:
        """Return the names of the best linked members, which a summary has to hold."""
        return tuple(one.title for one in self.entities[:most])


@dataclass(frozen=True, slots=True)
class CommunitySummary:
    """A summary of a community.

    ``quotes``: what it is made of, where its words are those of the documents. ``problem`` says why a model's
    summary was replaced by the extractive one, else None.
    """

    title: str
    text: str
    engine: Engine
    quotes: tuple[Quote, ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class CommunitySummariser(OfEngine, Protocol):
    """Summarises communities."""

    def summarise(self, requests: Sequence[SummaryRequest]) -> Iterable[CommunitySummary]:
        """Yield one summary per request, in their order."""


@dataclass(frozen=True, slots=True)
class RouteCues:
    """What of a question the index knows.

    Attributes:
        names: of entities that stand in the question.
        nearest: highest cosine to the description of an entity, -1 where nothing can be compared.
        background: cosine that most pairs of a question and an unrelated entity do not reach.
    """

    names: tuple[str, ...]
    nearest: float
    background: float


@dataclass(frozen=True, slots=True)
class RoutedQuestion:
    """Whether a question needs the documents, and why; ``problem``: why who was asked could not say."""

    route: Route
    reason: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class EvidenceRouter(OfEngine, Protocol):
    """Says whether a question needs the documents."""

    def route(self, question: str, cues: RouteCues) -> RoutedQuestion:
        """Return ``specific`` where a question needs them, and on any doubt."""


@dataclass(frozen=True, slots=True)
class EvidenceAnswer:
    """What is said from a context, or that it is not enough.

    Attributes:
        text: citing rows of the context as ``[Data: Sources (1)]``; where more is to be searched what could
            be said all the same, blank where nothing.
        search_more: the context is not enough.
        coverage: share of the question's terms in the sentences that were quoted; None by a model.
        quotes: sentences with the row and the words they were taken from; none by a model.
        layout: where they stand in the text; nothing where that is not known.
        problem: why there is no usable reply, else None.
    """

    text: str
    engine: Engine
    search_more: bool = False
    coverage: float | None = None
    quotes: tuple[tuple[str, int, Quote | None], ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)
    layout: Layout = field(default_factory=Layout)


class EvidenceAnswerer(OfEngine, Protocol):
    """Answers from a context, and says where it is not enough."""

    def answer(self, question: str, rows: Sequence[ContextUnit]) -> EvidenceAnswer:
        """Return an answer from the rows alone, which may be none."""

    def answer_directly(self, question: str) -> EvidenceAnswer | None:
        """Return an answer from general knowledge; None where there is no such knowledge."""


@dataclass(frozen=True, slots=True)
class Validation:
    """Whether an answer agrees with its context and is complete.

    ``problem`` says why the validator's reply could not be read; the verdict is ``ok`` then.
    """

    verdict: Validity
    reason: str = ""
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class AnswerValidator(OfEngine, Protocol):
    """Checks answers against their context."""

    def validate(self, question: str, rows: Sequence[ContextUnit], answer: EvidenceAnswer) -> Validation:
        """Return the verdict."""


COMMUNITY_SUMMARISER: Task[CommunitySummariser] = Task(
    "community_summariser", "coterag", "summarise", prompt_pairs("coterag_summary")
)
EVIDENCE_ROUTER: Task[EvidenceRouter] = Task(
    "evidence_router", "coterag", "route", ("coterag_route_system", "route_user"), waited_for=True
)
EVIDENCE_ANSWERER: Task[EvidenceAnswerer] = Task(
    "evidence_answerer",
    "coterag",
    "answer",
    prompt_pairs("coterag_answer", "coterag_direct"),
    waited_for=True,
)
ANSWER_VALIDATOR: Task[AnswerValidator] = Task(
    "answer_validator", "coterag", "validate", prompt_pairs("coterag_validate"), waited_for=True
)
CONTEXT_WRITER: Task[ContextWriter | None] = Task(
    "context_writer", "search", "answer", prompt_pairs("own_context"), waited_for=True, done_by=(LLM,)
)

TASKS: tuple[Task[Any], ...] = (
    COMMUNITY_SUMMARISER,
    EVIDENCE_ROUTER,
    EVIDENCE_ANSWERER,
    ANSWER_VALIDATOR,
    CONTEXT_WRITER,
)
