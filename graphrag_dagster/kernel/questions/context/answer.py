"""The answer type shared by all search methods."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.catalogue.registry import answers_are_quotes
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.scope.favoured_documents import Favoured
from graphrag_dagster.kernel.questions.scope.scope_selection import Scope
from graphrag_dagster.kernel.storage.queries import Query
from graphrag_dagster.kernel.tasks.task_ports import Engine
from graphrag_dagster.kernel.text.evidence import Evidence
from graphrag_dagster.kernel.text.marked_words import in_bold
from graphrag_dagster.kernel.text.markup_spans import Span

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class RowLink:
    """A cell that links to rows of the index.

    Attributes:
        text: what is displayed.
        kind: kind of the rows: ``entity``, ``community``, ``source`` (a text unit) or ``relationship``.
        ids: of the rows.
    """

    text: str
    kind: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellLink:
    """A row of the index that a cell links to; ``row`` and ``column`` count from 0."""

    row: int
    column: int
    kind: str
    record_id: str


@dataclass(frozen=True, slots=True)
class TraceSection:
    """A table of a trace; a table with a single row is a list of facts.

    Attributes:
        title: of the table.
        columns: names of the columns.
        rows: cells in the order of the columns; None for an empty cell.
        links: rows of the index that cells link to.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    links: tuple[CellLink, ...] = ()

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column.

        Raises:
            ValueError: there is no such column.
        """
        position = self.columns.index(name)
        return [row[position] for row in self.rows]

    def ids(self, name: str) -> list[str]:
        """Return the ids of the rows that the cells of a column link to."""
        position = self.columns.index(name)
        return [link.record_id for link in self.links if link.column == position]


def section(title: str, columns: Sequence[str], rows: Iterable[Sequence[Value | RowLink]]) -> TraceSection:
    """Return a section of rows whose cells may link to rows of the index."""
    cells, links = [], []
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            if isinstance(cell, RowLink):
                links += [CellLink(number, column, cell.kind, record_id) for record_id in cell.ids]
        cells.append(tuple(cell.text if isinstance(cell, RowLink) else cell for cell in row))
    return TraceSection(title, tuple(columns), tuple(cells), tuple(links))


def facts(title: str, **told: Value | RowLink) -> TraceSection:
    """Return a section of one row. Values of None or blank are omitted; ``_`` in names means a blank."""
    named_values = {
        name.replace("_", " "): value for name, value in told.items() if value is not None and value != ""
    }
    return section(title, tuple(named_values), [tuple(named_values.values())])


def entity(entity_id: str, title: str) -> RowLink:
    """Return a cell that links to an entity."""
    return RowLink(title, "entity", (entity_id,))


def community(community_id: str, title: str) -> RowLink:
    """Return a cell that links to a community."""
    return RowLink(title, "community", (community_id,))


def text_unit(text_unit_id: str, title: str = "") -> RowLink:
    """Return a cell that links to a text unit, displayed by its id by default."""
    return RowLink(title or text_unit_id, "source", (text_unit_id,))


#: Headings of answers without a model.
QUOTATIONS = "Quotations chosen by rules, no model."
QUERIED = "By a query over the tables of the index; no model was asked."
#: Heading of an answer from a model's own knowledge, and the kind of its only source.
OWN_KNOWLEDGE = "From what the model knows; no document was read, and nothing below is from one."
OWN_CONTEXT = "own_context"
#: All headings.
HEADINGS = (QUOTATIONS, QUERIED, OWN_KNOWLEDGE)


@dataclass(frozen=True, slots=True)
class Source:
    """What the mark ``[number]`` in an answer refers to, with its evidence.

    ``kind``, ``record_id`` and ``title`` identify the cited row: a report, entity, relationship, claim or
    text unit (``source``), a community's ``summary`` or a ``triple`` of CoTeRAG-S, a result row of a query
    (``row``), or a model's own knowledge (``own_context``), which no mark cites. ``finding`` is the position
    of the report's finding that rests on the words, -1 for its summary. ``via_kind`` and ``via_id`` identify
    the relationship, entity or triple that led to the words. ``evidence`` is the words. If none are found, a
    relationship has itself as a triple and other rows have none. A result row is its own evidence, with the
    words that it stands for if there are any. ``similarity``: 0–1, of the words to the nearest statement that
    cites them.
    """

    number: int
    kind: str
    record_id: str
    title: str
    finding: int | None = None
    via_kind: str | None = None
    via_id: str | None = None
    evidence: Evidence | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer, the numbers of its sources, and its similarity to the nearest one, 0–1.

    ``verdict``: whether the cited words support it. ``score``, 0–1: the probability that a person would say
    so. ``reason``: why they do not fully. ``general``: whether it is marked as general knowledge, which has
    no verdict. ``marks``: the words that answer the question, as characters of ``text``.
    """

    text: str
    sources: tuple[int, ...]
    similarity: float
    verdict: Verdict | None
    score: float | None = None
    reason: str = ""
    general: bool = False
    marks: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextUse:
    """A row of the context, the number of its chunk, and its tokens there.

    ``used``: whether the partial answer of its chunk went into the answer. ``text``: its text, if no table of
    the index has it.
    """

    kind: str
    record_id: str
    title: str
    chunk: int
    tokens: int
    used: bool = False
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the answerer: task, subject, score 0–100 (0–5 for ``rate``) and tokens.

    ``used``: whether the result went into the answer.
    """

    task: str
    about: str
    score: int | None = None
    tokens: int = 0
    used: bool = True
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its sources, context, trace and usage.

    ``method`` is the search method (``C0`` … ``C3``, ``TS``, ``SS``, ``dynamic``, ``local``, ``drift``,
    ``basic``, ``sql``, ``graph``, ``paths``, ``coterag``, ``coterag-no-communities`` …, ``own-context``).
    ``level`` is the community level that was read, if any. ``why`` says why the method was chosen or what it
    saved. ``refused``: nothing in the context was useful; ``nearest`` is then the passage nearest to the
    question, which is not an answer, or None if no passage shares a word with it. ``scores``: helpfulness
    0–100 of the partial answers in the order of the chunks. ``dropped``: number of partial answers that
    scored 0 or did not fit. ``removed_citations``: number of cited ids that were not in the context.
    ``problems``: partial answers that could not be used, with reasons. ``query``: the query whose result the
    answer reports. ``steps``: requests to the answerer. ``usage``: model calls. ``trace``: how the search
    method found the answer. ``seconds`` is set by the caller that measures it. ``scope``: what the answer was
    restricted to, None if nothing. ``favoured``: documents favoured because the question names them.
    ``text`` is Markdown; what it quotes are the document's own characters. ``marks``: the words that answer
    the question, as characters of ``text``: whole words, never in a link or code; empty for most answers.
    """

    question: str
    method: str
    level: int | None
    text: str
    engine: Engine
    refused: bool = False
    why: str | None = None
    sources: tuple[Source, ...] = ()
    statements: tuple[Statement, ...] = ()
    context: tuple[ContextUse, ...] = ()
    scores: tuple[int, ...] = ()
    dropped: int = 0
    removed_citations: int = 0
    problems: tuple[str, ...] = ()
    steps: tuple[Call, ...] = ()
    trace: tuple[TraceSection, ...] = ()
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None
    query: Query | None = None
    scope: Scope | None = None
    favoured: tuple[Favoured, ...] = ()
    nearest: Source | None = None
    marks: tuple[Span, ...] = ()

    @property
    def text_in_bold(self) -> str:
        """The text with its marks in bold, where Markdown can draw them."""
        return in_bold(self.text, self.marks)

    @property
    def calls(self) -> int:
        """Number of requests to the answerer."""
        return len(self.steps)

    @property
    def heading(self) -> str:
        """Heading to display above the text; blank if it needs none."""
        if any(source.kind == OWN_CONTEXT for source in self.sources) and not self.refused:
            return OWN_KNOWLEDGE
        if not answers_are_quotes(self.engine) or self.refused:
            return ""
        return QUERIED if self.query else QUOTATIONS

    @property
    def partly_supported(self) -> int:
        """Number of statements that the cited words support in part."""
        return self._with_verdict("partly")

    @property
    def unsupported(self) -> int:
        """Number of statements that the cited words do not support."""
        return self._with_verdict("not")

    @property
    def general(self) -> int:
        """Number of statements marked as general knowledge."""
        return sum(statement.general for statement in self.statements)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON-compatible values."""
        derived = ("heading", "calls", "partly_supported", "unsupported", "general")
        return {**asdict(self), **{name: getattr(self, name) for name in derived}}

    def _repr_markdown_(self) -> str:
        """Return the answer and its sources as a notebook shows them."""
        heading = [f"*{self.heading}*"] if self.heading else []
        sources = [
            f"{one.number}. {_literal(one.evidence.line if one.evidence else one.title)}"
            for one in self.sources
        ]
        return "\n\n".join([*heading, self.text_in_bold, "\n".join(sources)]).rstrip()

    def section(self, title: str) -> TraceSection | None:
        """Return the first section of the trace with a title, None without one."""
        return next((section for section in self.trace if section.title == title), None)

    def _with_verdict(self, verdict: Verdict) -> int:
        return sum(statement.verdict == verdict for statement in self.statements)


def _literal(text: str) -> str:
    """Return words of a document on one line of Markdown that shows them as they are."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&$-])", r"\\\1", " ".join(text.split()))
