"""The one type of answer, whatever the search method."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.catalogue.registry import quotes
from graphrag_dagster.kernel.questions.context.index_snapshot import Query
from graphrag_dagster.kernel.questions.scope.favoured_documents import Favoured
from graphrag_dagster.kernel.questions.scope.scope_selection import Scope
from graphrag_dagster.kernel.tasks.task_ports import Engine, Usage
from graphrag_dagster.kernel.text.evidence import Evidence

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class RowLink:
    """A cell that leads to rows of the index.

    Attributes:
        text: what is shown.
        kind: what the rows are: ``entity``, ``community``, ``source`` (a text unit) or ``relationship``.
        ids: of the rows.
    """

    text: str
    kind: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellLink:
    """A row of the index that a cell leads to; ``row`` and ``column`` count from 0."""

    row: int
    column: int
    kind: str
    record_id: str


@dataclass(frozen=True, slots=True)
class TraceSection:
    """A table of a trace; one with a single row is a list of facts.

    Attributes:
        title: what it tells.
        columns: names of the columns.
        rows: cells in the order of the columns; None where there is nothing to say.
        links: rows of the index that cells lead to.
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
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def ids(self, name: str) -> list[str]:
        """Return the ids of the rows that the cells of a column lead to."""
        place = self.columns.index(name)
        return [one.record_id for one in self.links if one.column == place]


def section(title: str, columns: Sequence[str], rows: Iterable[Sequence[Value | RowLink]]) -> TraceSection:
    """Return a section of rows whose cells may lead to rows of the index."""
    made, links = [], []
    for number, row in enumerate(rows):
        records = [(place, cell) for place, cell in enumerate(row) if isinstance(cell, RowLink)]
        links += [CellLink(number, place, cell.kind, one) for place, cell in records for one in cell.ids]
        made.append(tuple(cell.text if isinstance(cell, RowLink) else cell for cell in row))
    return TraceSection(title, tuple(columns), tuple(made), tuple(links))


def facts(title: str, **told: Value | RowLink) -> TraceSection:
    """Return a section of one row; what is None or blank is left out, and ``_`` in a name is a blank."""
    said = {
        name.replace("_", " "): value for name, value in told.items() if value is not None and value != ""
    }
    return section(title, tuple(said), [tuple(said.values())])


def entity(entity_id: str, title: str) -> RowLink:
    """Return a cell that leads to an entity."""
    return RowLink(title, "entity", (entity_id,))


def community(community_id: str, title: str) -> RowLink:
    """Return a cell that leads to a community."""
    return RowLink(title, "community", (community_id,))


def text_unit(text_unit_id: str, title: str = "") -> RowLink:
    """Return a cell that leads to a text unit, by default shown by its id."""
    return RowLink(title or text_unit_id, "source", (text_unit_id,))


#: Headings of answers without a model.
QUOTATIONS = "Quotations chosen by rules, no model."
QUERIED = "By a query over the tables of the index; no model was asked."
#: Heading of an answer from what a model knows, and the kind of the source that it has.
OWN_KNOWLEDGE = "From what the model knows; no document was read, and nothing below is from one."
OWN_CONTEXT = "own_context"
#: All of them.
HEADINGS = (QUOTATIONS, QUERIED, OWN_KNOWLEDGE)


@dataclass(frozen=True, slots=True)
class Source:
    """What the mark ``[number]`` in an answer stands for, and the way from there to the evidence.

    ``kind``, ``record_id`` and ``title`` name the cited row: a report, an entity, a relationship, a claim, a
    text unit (``source``), a community's ``summary`` or a ``triple`` of CoTeRAG-S, a row of what a query gave
    (``row``), or what a model wrote from its own knowledge (``own_context``), which no mark cites. Of a
    report, ``finding`` is the place of the finding that rests on the words (-1 its summary); ``via_kind`` and
    ``via_id`` name the relationship, entity or triple that led to them. ``evidence`` is the words; where none
    can be found that the row rests on, a relationship has itself as a triple, and other rows have none. What
    a query gave has its row, and beside it words where the row stands for some. ``similarity``: 0–1, how near
    the words are to the nearest statement that cites them.
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
    """A sentence of an answer: the numbers of its sources, and how near it is to the nearest of them, 0–1.

    ``verdict``: whether the words that it cites support it; ``score``, 0–1, how probable it is that a person
    would say so, and ``reason`` why they do not wholly. ``general``: it is marked as a model's knowledge of
    the world, which has no verdict.
    """

    text: str
    sources: tuple[int, ...]
    similarity: float
    verdict: Verdict | None
    score: float | None = None
    reason: str = ""
    general: bool = False


@dataclass(frozen=True, slots=True)
class ContextUse:
    """A row that was shown to the answerer, the chunk it stood in, and its tokens there.

    ``used``: the partial answer of its chunk went into the answer. ``text``: its words, where no table of the
    index has them.
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
    """One thing asked of the answerer: which task, about what, its score 0–100 (0–5 of ``rate``), its tokens.

    ``used``: what came of it went into the answer.
    """

    task: str
    about: str
    score: int | None = None
    tokens: int = 0
    used: bool = True
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, what it rests on, and what it cost.

    ``method`` is the search method (``C0`` … ``C3``, ``TS``, ``SS``, ``dynamic``, ``local``, ``drift``,
    ``basic``, ``sql``, ``graph``, ``paths``, ``coterag``, ``coterag-no-communities`` …, ``own-context``);
    ``level`` the community level it read, None where it read none; ``why`` says why the method was chosen or
    what it saved. ``refused``: nothing in the context was of use; ``nearest`` is then the passage that comes
    nearest to the question, which answers nothing, None where no passage shares a word with it. ``scores``:
    helpfulness 0–100 of each chunk's partial answer in the order of the chunks. ``dropped``: partial answers
    that scored 0 or did not fit. ``removed_citations``: ids cited that were not in the context.
    ``problems``: partial answers that could not be used, with reasons. ``query``: whose rows the answer
    tells. ``steps``: what was asked of the answerer; ``usage`` has the calls of a model. ``trace``: how the
    search method came to it. ``seconds`` is filled by who measures it. ``scope`` is what the answer was
    restricted to, None for nothing; ``favoured`` what the question named of the documents, and was favoured
    for that.
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

    @property
    def calls(self) -> int:
        """How many things were asked of the answerer."""
        return len(self.steps)

    @property
    def heading(self) -> str:
        """What stands above the text where it is shown; empty where it speaks for itself."""
        if any(one.kind == OWN_CONTEXT for one in self.sources) and not self.refused:
            return OWN_KNOWLEDGE
        if not quotes(self.engine) or self.refused:
            return ""
        return QUERIED if self.query else QUOTATIONS

    @property
    def partly_supported(self) -> int:
        """How many statements the words they cite support in part."""
        return self._with_verdict("partly")

    @property
    def unsupported(self) -> int:
        """How many statements have no support in the words they cite."""
        return self._with_verdict("not")

    @property
    def general(self) -> int:
        """How many statements are marked as a model's knowledge of the world."""
        return sum(statement.general for statement in self.statements)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as values that JSON can hold."""
        made = ("heading", "calls", "partly_supported", "unsupported", "general")
        return {**asdict(self), **{name: getattr(self, name) for name in made}}

    def section(self, title: str) -> TraceSection | None:
        """Return the first section of the trace with a title, None where there is none."""
        return next((one for one in self.trace if one.title == title), None)

    def _with_verdict(self, verdict: Verdict) -> int:
        return sum(statement.verdict == verdict for statement in self.statements)
