"""The ports to language technology: what a pipeline asks for, whoever answers.

Each task takes a batch and answers in the order of the batch. An implementation decides for itself how it
uses threads, processes or connections, and reports progress through
:mod:`graphrag_dagster.kernel.common.progress`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from graphrag_dagster.kernel.graph.graph_labels import RELATED_TO
from graphrag_dagster.kernel.questions.citations import Citation, ContextKind
from graphrag_dagster.kernel.text.distinctive_phrases import Phrase
from graphrag_dagster.kernel.text.markup_spans import Span

T = TypeVar("T")

#: Name of an engine of the catalogue.
Engine: TypeAlias = str
#: Type of an entity that only a relationship names (``dangling: create``).
UNKNOWN_TYPE = "UNKNOWN"

UnitState = Literal["extracted", "empty", "unreadable", "repaired", "quarantined"]
RecordKind = Literal["entity", "relationship", "claim", "report"]


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A text unit as the language tasks see it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a task cost, and how many replies had to be mended for it; all zero for the extractive engine."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    repaired: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.repaired + other.repaired,
        )


@dataclass(frozen=True)
class Items(Generic[T]):
    """What was asked for, in its order; where there is none though there should be, ``problem`` says why."""

    items: tuple[T, ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class EntityInstance:
    """One mention record of an entity, as one round on one text unit gave it.

    ``name`` is the normalised name (:func:`.normalise`), ``surface``
    the words as written or as the model spelled them; ``spans`` say where the name stands in the unit
    (empty when the model gave a name that the text does not contain).
    """

    name: str
    surface: str
    type: str
    description: str
    round: int = 0
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationshipInstance:
    """One relation record. ``source`` and ``target`` are normalised names, ``spans`` its sentences.

    ``basis`` says what the record rests on: ``model``, ``verb`` (a grammatical relation) or
    ``co_occurrence`` (the same sentence). ``relation`` is its label from source to target, as
    :func:`graphrag_dagster.kernel.graph.graph_labels.relation_label` writes labels.
    """

    source: str
    target: str
    description: str
    strength: float = 1.0
    basis: Literal["model", "verb", "co_occurrence"] = "model"
    round: int = 0
    spans: tuple[Span, ...] = ()
    relation: str = RELATED_TO


@dataclass(frozen=True, slots=True)
class ClaimInstance:
    """One claim: subject and object are normalised names, dates ISO 8601 or None, spans the quoted text."""

    subject: str
    object: str | None
    type: str
    status: Literal["TRUE", "FALSE", "SUSPECTED"]
    description: str
    start_date: str | None = None
    end_date: str | None = None
    round: int = 0
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A reply or a record that could not be used; kept whole, with the reason."""

    kind: Literal["reply", "entity", "relationship", "claim"]
    raw: str
    reason: str
    prompt: str | None = None
    round: int = 0


@dataclass(frozen=True, slots=True)
class UnitExtraction:
    """Everything that came out of one text unit. ``repaired`` counts records that needed mending.

    ``state``: ``extracted`` (records, none mended), ``repaired`` (records, some mended), ``empty`` (no
    record; ``reason`` says why), ``unreadable`` (not read, for the language that ``reason`` names),
    ``quarantined`` (a whole reply of the unit could not be used). ``untyped`` are names of entities that have
    the type that rules tell by the name alone. ``replies`` are the keys of the cached replies it was read
    from.
    """

    unit_id: str
    state: UnitState
    reason: str | None = None
    rounds: int = 1
    entities: tuple[EntityInstance, ...] = ()
    relationships: tuple[RelationshipInstance, ...] = ()
    claims: tuple[ClaimInstance, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    repaired: int = 0
    usage: Usage = field(default_factory=Usage)
    untyped: frozenset[str] = frozenset()
    replies: tuple[str, ...] = ()


class OfEngine(Protocol):
    """Who does a task, on behalf of an engine."""

    @property
    def engine(self) -> Engine:
        """Its name."""


class GraphExtractor(OfEngine, Protocol):
    """Finds entities and relationships in text units (paper §3.1.2)."""

    def extract(self, units: Sequence[TextUnit]) -> Iterable[UnitExtraction]:
        """Yield one extraction per unit, in the order of ``units``; ``claims`` is empty."""


class ClaimExtractor(OfEngine, Protocol):
    """Finds claims about entities in text units (paper §3.1.2)."""

    def extract_claims(
        self, units: Sequence[TextUnit], names: Sequence[Sequence[str]]
    ) -> Iterable[UnitExtraction]:
        """Yield one extraction per unit, with claims only. ``names[i]``: entities found in unit i."""


@dataclass(frozen=True, slots=True)
class DescriptionGroup:
    """The distinct descriptions, in a stable order, of one entity (one name) or relationship (two)."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergedDescription:
    """One description for a group. ``problem`` says why a model's reply was not used, else None."""

    text: str
    engine: Engine
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class DescriptionMerger(OfEngine, Protocol):
    """Joins the descriptions of one element into one text (paper §3.1.3)."""

    def merge(self, groups: Sequence[DescriptionGroup]) -> list[MergedDescription]:
        """Return one description per group; a group of one distinct description keeps it word for word."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Words taken unchanged from a text unit."""

    unit_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a report: a headline, its explanation, and what it rests on."""

    summary: str
    explanation: str
    citations: tuple[Citation, ...] = ()
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class SupportingSentence:
    """A sentence that supports rows of a context: ``entities`` and ``relationships`` are local ids."""

    unit_id: str
    span: Span
    text: str
    entities: tuple[int, ...] = ()
    relationships: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextEntity:
    """An entity row of a report context; ``id`` is local to the context."""

    id: int
    title: str
    type: str
    description: str
    degree: int


@dataclass(frozen=True, slots=True)
class ContextRelationship:
    """A relationship row of a report context; ends are local entity ids."""

    id: int
    source: int
    target: int
    description: str
    weight: float
    combined_degree: int


@dataclass(frozen=True, slots=True)
class ContextReport:
    """The report of a sub-community that stands in a context in place of its elements."""

    id: int
    title: str
    summary: str
    content: str


@dataclass(frozen=True, slots=True)
class ContextNode:
    """A row of a report context about an entity that is no member, but resembles the community.

    ``relationships`` are those with members, by id and description. Local ids go on where those of members
    end. ``community`` is the small number of the community that it is a member of.
    """

    entity: ContextEntity
    community: int
    relationships: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """All a writer may use for one community: the packed context as text and as rows, and the evidence.

    ``context_nodes`` are no members and must not be told of as such; ``context_evidence`` supports them. Rows
    and evidence may be made only when they are read.
    """

    context: str
    entities: Sequence[ContextEntity]
    relationships: Sequence[ContextRelationship]
    reports: Sequence[ContextReport] = ()
    evidence: Sequence[SupportingSentence] = ()
    context_nodes: tuple[ContextNode, ...] = ()
    context_evidence: Sequence[SupportingSentence] = ()
    #: 0…1: summed degree of the members over the largest such sum of all communities.
    prominence: float = 0.0


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A community report (paper §3.1.5, Appendix E.2). ``rating`` is 0–10.

    ``problem`` says why a model's report was replaced by the extractive one, else None; ``engine`` is the
    engine that wrote the text that is here. ``replies`` are the keys of the cached replies it was read
    from.
    """

    title: str
    summary: str
    rating: float
    rating_explanation: str
    findings: tuple[Finding, ...]
    engine: Engine
    #: What the summary rests on.
    quotes: tuple[Quote, ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)
    replies: tuple[str, ...] = ()


class ReportWriter(OfEngine, Protocol):
    """Writes community reports."""

    def write(self, requests: Sequence[ReportRequest]) -> Iterable[WrittenReport]:
        """Yield one report per request, in their order, each as soon as it and those before it are there."""


class Background(Protocol):
    """What is known of the text units that quotations are taken from."""

    def document(self, unit_id: str, /) -> str:
        """Return the id of a text unit's document, blank for an unknown unit."""

    def names(self, unit_id: str, /) -> Sequence[tuple[str, str]]:
        """Return titles and types of the entities that were found in a text unit."""

    def phrases(self) -> Sequence[Phrase]:
        """Return what tells the documents apart, the weightiest phrase first."""

    def told(self) -> bool:
        """Whether the text units are a graph told in words: each of their sentences stands for itself."""

    def words(self, quote: Quote, /) -> str:
        """Return the quoted words, exactly as they stand; nothing for an unknown unit."""

    def cut(self, quote: Quote, /) -> bool:
        """Return whether words stand at an edge of their text unit behind which the document goes on."""

    def code(self, quote: Quote, /) -> bool:
        """Return whether words stand in a block of code."""


@dataclass(frozen=True, slots=True)
class ContextUnit:
    """One row of a search context: a report, a text unit, an entity, a relationship or a claim.

    ``id`` is local to the search: 1…n over all its rows; ``sentences`` are what an extractive answer may
    quote: the sentences of the row, each with where its words come from (None where unknown). ``kind`` is as
    what the row is cited. ``background`` tells of their text units, None where nothing is known.
    """

    id: int
    title: str
    text: str
    sentences: tuple[tuple[str, Quote | None], ...] = ()
    kind: ContextKind = "report"
    background: Background | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Point:
    """Sentences that an answer by rule gives together, under a heading, with citations of rows of a kind.

    ``quotes``: sentence as it is shown, id of its row, where its words stand. ``value``, of any scale: how
    much it answers.
    """

    heading: str
    quotes: tuple[tuple[str, int, Quote | None], ...]
    value: float
    kind: ContextKind = "report"

    def renumbered(self, numbers: Mapping[int, int]) -> "Point":
        """Return the point with other numbers of its rows; sentences of rows without one are left out."""
        kept = tuple((text, numbers[row], quote) for text, row, quote in self.quotes if row in numbers)
        return replace(self, quotes=kept)


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """A map answer with its helpfulness, 0–100 (paper §3.1.6), None where the reply gave none.

    ``units`` are the ids it cites, ``kind`` as what its rows are cited. ``general_knowledge``: sentences with
    the mark of :mod:`graphrag_dagster.kernel.tasks.answer_form` are the model's own knowledge. ``points``
    (extractive engine): what the text is laid out from.
    """

    text: str
    score: int | None
    units: tuple[int, ...] = ()
    quotes: tuple[tuple[str, int, Quote | None], ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)
    kind: ContextKind = "report"
    general_knowledge: bool = False
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """A reduced answer; citations stand in the text as ``[Data: Reports (1, 2)]`` with local ids.

    ``quotes`` (extractive engine): sentence, id of the unit it was taken from, where its words stand.
    ``general_knowledge``: as that of :class:`PartialAnswer`.
    """

    text: str
    engine: Engine
    quotes: tuple[tuple[str, int, Quote | None], ...] = ()
    usage: Usage = field(default_factory=Usage)
    general_knowledge: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a conversation and the answer it got."""

    question: str
    answer: str


class Answerer(OfEngine, Protocol):
    """Answers a question over context chunks: partial answers with a score, then one answer."""

    def map(
        self, question: str, chunks: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[PartialAnswer]:
        """Return one partial answer per chunk; ``rendered[i]`` is chunk i as the prompt shows it."""

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        """Join the kept partial answers, given in descending order of score."""

    def answer(
        self, question: str, rows: Sequence[ContextUnit], rendered: str, history: Sequence[Turn] = ()
    ) -> FinalAnswer:
        """Answer at once from one context; blank where its rows say nothing about the question.

        Args:
            question: as checked.
            rows: of the context, of any kind.
            rendered: the context as the prompt shows it.
            history: the conversation so far, oldest first.
        """


#: Of an item: yes, no, or that it cannot be told.
Verdict = Literal["yes", "no", "idk"]


@dataclass(frozen=True, slots=True)
class ItemVerdict:
    """The verdict on one item and why; ``reason`` may be blank."""

    verdict: Verdict
    reason: str = ""
