"""The ports of language technology: what the pipeline requires of any engine.

Each task takes a batch and returns results in the order of the batch. An implementation chooses its own
threads, processes or connections, and reports progress through
:mod:`graphrag_dagster.kernel.common.progress`.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeAlias

from graphrag_dagster.kernel.graph.graph_labels import RELATED_TO
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.text.citations import Citation, ContextKind
from graphrag_dagster.kernel.text.distinctive_phrases import Phrase
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.prompt_templates import Turn

#: Name of an engine of the catalogue.
Engine: TypeAlias = str
#: Type of an entity that only occurs in a relationship (``dangling: create``).
UNKNOWN_TYPE = "UNKNOWN"

UnitState = Literal["extracted", "empty", "unreadable", "repaired", "quarantined"]
RecordKind = Literal["entity", "relationship", "claim", "report"]


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A text unit as the language tasks see it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class EntityInstance:
    """One mention record of an entity, from one round on one text unit.

    ``name`` is the normalised name (:func:`.normalise`), ``surface`` the words as written or as the model
    spelled them. ``spans`` are the positions of the name in the unit, empty if the text does not contain it.
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

    ``basis`` is the evidence of the record: ``model``, ``verb`` (a grammatical relation) or ``co_occurrence``
    (the same sentence). ``relation`` is its label from source to target, in the form of
    :func:`graphrag_dagster.kernel.graph.graph_labels.relation_label`.
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
    """One claim: normalised names of subject and object, ISO 8601 dates or None, spans of the quoted text."""

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
    """A reply or record that could not be used, kept in full, with the reason."""

    kind: Literal["reply", "entity", "relationship", "claim"]
    raw: str
    reason: str
    prompt: str | None = None
    round: int = 0


@dataclass(frozen=True, slots=True)
class UnitExtraction:
    """The results from one text unit. ``repaired`` counts records that had to be repaired.

    ``state``: ``extracted`` (records, none repaired), ``repaired`` (records, some repaired), ``empty`` (no
    record, see ``reason``), ``unreadable`` (skipped because of the language that ``reason`` names),
    ``quarantined`` (a whole reply could not be used). ``untyped`` are names of entities with the type that
    the rules assign by the name alone. ``replies`` are the cache keys of the replies it was parsed from.
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
    """An implementation of a task by an engine."""

    @property
    def engine(self) -> Engine:
        """Name of the engine."""


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
    """The distinct descriptions, in a stable order, of one entity (one name) or relationship (two names)."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergedDescription:
    """The description of a group. ``problem`` says why a model's reply was not used, else None."""

    text: str
    engine: Engine
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class DescriptionMerger(OfEngine, Protocol):
    """Joins the descriptions of one element into one text (paper §3.1.3)."""

    def merge(self, groups: Sequence[DescriptionGroup]) -> list[MergedDescription]:
        """Return one description per group; a single distinct description is kept verbatim."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Words taken unchanged from a text unit."""

    unit_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a report: a headline, its explanation and its evidence."""

    summary: str
    explanation: str
    citations: tuple[Citation, ...] = ()
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class SupportingSentence:
    """A sentence that supports rows of a context; ``entities`` and ``relationships`` are local ids."""

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
    """A relationship row of a report context; the ends are local entity ids."""

    id: int
    source: int
    target: int
    description: str
    weight: float
    combined_degree: int


@dataclass(frozen=True, slots=True)
class ContextReport:
    """The report of a sub-community that replaces its elements in a context."""

    id: int
    title: str
    summary: str
    content: str


@dataclass(frozen=True, slots=True)
class ContextNode:
    """A report-context row of an entity that is not a member, but resembles the community.

    ``relationships`` are those with members, by id and description. Local ids continue those of the members.
    ``community`` is the small number of its own community.
    """

    entity: ContextEntity
    community: int
    relationships: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """The input of a report writer for one community: the packed context as text and as rows, and the
    evidence.

    ``context_nodes`` are not members and must not be described as such; ``context_evidence`` supports them.
    Rows and evidence may be created lazily.
    """

    context: str
    entities: Sequence[ContextEntity]
    relationships: Sequence[ContextRelationship]
    reports: Sequence[ContextReport] = ()
    evidence: Sequence[SupportingSentence] = ()
    context_nodes: tuple[ContextNode, ...] = ()
    context_evidence: Sequence[SupportingSentence] = ()
    #: 0–1: summed degree of the members, relative to the largest such sum of all communities.
    prominence: float = 0.0


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A community report (paper §3.1.5, Appendix E.2). ``rating`` is 0–10.

    ``problem`` says why a model's report was replaced by the extractive one, else None; ``engine`` wrote the
    present text. ``replies`` are the cache keys of the replies it was parsed from.
    """

    title: str
    summary: str
    rating: float
    rating_explanation: str
    findings: tuple[Finding, ...]
    engine: Engine
    #: The evidence of the summary.
    quotes: tuple[Quote, ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)
    replies: tuple[str, ...] = ()


class ReportWriter(OfEngine, Protocol):
    """Writes community reports."""

    def write(self, requests: Sequence[ReportRequest]) -> Iterable[WrittenReport]:
        """Yield one report per request, in their order, each as soon as it and those before it are there."""


class Background(Protocol):
    """Background knowledge about the text units that quotations are taken from."""

    def document(self, unit_id: str, /) -> str:
        """Return the id of a text unit's document, blank for an unknown unit."""

    def before(self, unit_id: str, /) -> str | None:
        """Return the id of the text unit before one in its document, None for the first."""

    def day(self, unit_id: str, /) -> datetime.date | None:
        """Return the first day of the own period of a text unit's document, None without one."""

    def names(self, unit_id: str, /) -> Sequence[tuple[str, str]]:
        """Return the titles and types of the entities found in a text unit."""

    def phrases(self) -> Sequence[Phrase]:
        """Return the phrases that distinguish the documents, weightiest first."""

    def told(self) -> bool:
        """Whether the text units are a verbalised graph: each of their sentences stands for itself."""

    def words(self, quote: Quote, /) -> str:
        """Return the quoted words verbatim; blank for an unknown unit."""

    def cut(self, quote: Quote, /) -> bool:
        """Whether the quote touches an edge of its text unit beyond which the document continues."""

    def code(self, quote: Quote, /) -> bool:
        """Whether the quote is in a block of code."""


@dataclass(frozen=True, slots=True)
class ContextUnit:
    """One row of a search context: a report, a text unit, an entity, a relationship or a claim.

    ``id`` is local to the search: 1…n over all its rows. ``sentences`` are what an extractive answer may
    quote, each with its position (None if unknown). ``kind`` is the name of the row's kind in citations.
    ``background`` describes the text units, None if nothing is known. ``selected``: whether the question
    names its document and no others are read; ``favoured``: whether it names its document.
    """

    id: int
    title: str
    text: str
    sentences: tuple[tuple[str, Quote | None], ...] = ()
    kind: ContextKind = "report"
    background: Background | None = field(default=None, compare=False, repr=False)
    selected: bool = False
    favoured: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """Sentences that an extractive answer presents together, under a heading, citing rows of one kind.

    ``quotes``: triples of the displayed sentence, the id of its row and its position. ``value``: how well it
    answers, on any scale. ``apart``: it stands for a document of its own, even if it reads like another.
    ``marks``: of each sentence the characters that answer the question, None without any; empty for none.
    """

    heading: str
    quotes: tuple[tuple[str, int, Quote | None], ...]
    value: float
    kind: ContextKind = "report"
    apart: bool = False
    marks: tuple[Span | None, ...] = ()

    def renumbered(self, numbers: Mapping[int, int]) -> "Point":
        """Return the point with new row ids; sentences of rows without one are dropped."""
        kept = [place for place, (_, row, _) in enumerate(self.quotes) if row in numbers]
        every = [(text, numbers.get(row, 0), quote) for text, row, quote in self.quotes]
        marks = tuple(self.marks[place] for place in kept) if self.marks else ()
        return replace(self, quotes=tuple(every[place] for place in kept), marks=marks)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the quotations of a text stand, and in them the words that answer the question."""

    quotations: tuple[Span, ...] = ()
    marks: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class PartialAnswer:
    """A map answer with its helpfulness, 0–100 (paper §3.1.6), None if the reply gave none.

    ``units`` are the ids it cites, ``kind`` the name of their kind in citations. ``general_knowledge``:
    sentences with the mark of :mod:`graphrag_dagster.kernel.text.answer_form` are the model's own knowledge.
    ``points`` (extractive engine) are the source of the text, and ``layout`` is where they stand in it.
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
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """A reduced answer; the text has citations such as ``[Data: Reports (1, 2)]`` with local ids.

    ``quotes`` (extractive engine): triples of a sentence, the id of its unit and its position.
    ``general_knowledge``, ``layout``: see :class:`PartialAnswer`.
    """

    text: str
    engine: Engine
    quotes: tuple[tuple[str, int, Quote | None], ...] = ()
    usage: Usage = field(default_factory=Usage)
    general_knowledge: bool = False
    layout: Layout = field(default_factory=Layout)


class Answerer(OfEngine, Protocol):
    """Answers a question over context chunks by map and reduce, or from one context."""

    def map(
        self, question: str, chunks: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[PartialAnswer]:
        """Return one partial answer per chunk; ``rendered[i]`` is chunk i as shown in the prompt."""

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        """Combine the remaining partial answers, given in descending order of score."""

    def answer(
        self, question: str, rows: Sequence[ContextUnit], rendered: str, history: Sequence[Turn] = ()
    ) -> FinalAnswer:
        """Answer directly from one context; blank if its rows say nothing about the question.

        Args:
            question: as validated.
            rows: the rows of the context, of any kind.
            rendered: the context as shown in the prompt.
            history: the conversation so far, oldest first.
        """
