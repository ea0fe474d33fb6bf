"""Request and response models of the routes and tools."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from graphrag_dagster.apps.cypher.language.guard import LONGEST_QUERY
from graphrag_dagster.apps.cypher.property_graph import GraphQueryRun
from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.catalogue.search_methods import describe_methods
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.answer import (
    Answer,
    Call,
    ContextUse,
    Source,
    Statement,
    TraceSection,
)
from graphrag_dagster.kernel.questions.document_filters import ALL, Filters
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.questions.scope.favoured_documents import Favoured
from graphrag_dagster.kernel.questions.scope.scope_selection import Scope
from graphrag_dagster.kernel.storage.queries import Query
from graphrag_dagster.kernel.tasks.task_ports import Engine
from graphrag_dagster.kernel.text.answer_form import KNOWLEDGE_MARK, LONGEST_RESPONSE_TYPE
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.prompt_templates import Turn

METHODS = f"{describe_methods(methods().values())}; default: as the settings of the corpus say"
LEVELS = (
    f"community level of {' and '.join(one.name for one in methods().values() if one.levelled)}, C0 (few "
    "broad communities) to C3 and deeper (many narrow ones), C-1 and above in large corpora; "
    "default: as the settings of the corpus say"
)
RESPONSE_TYPES = (
    "length and layout of the answer, such as multiple paragraphs, single sentence or list of 3-7 "
    "points; at most 200 characters; default: the setting of the corpus"
)
GENERAL_KNOWLEDGE = (
    f"the model may add general knowledge, each such sentence marked {KNOWLEDGE_MARK}; default: the "
    "setting of the corpus"
)
QUERIES = "a read-only query in openCypher"
PARAMETERS = "values for the $parameters of the query: strings, numbers, booleans, null, or lists "
"of one of these types"
GRAPH_QUESTIONS = "instead of a query: a question in plain words, such as Who is connected to X?"
FILTERS = "restricts the answer to these documents; default: all of the corpus"
_METHOD_NAMES: list[JsonValue] = [None, *methods()]

Text = Annotated[str, StringConstraints(strict=True)]


class Read(BaseModel):
    """Made of an object's attributes."""

    model_config = ConfigDict(from_attributes=True)


class Health(BaseModel):
    """The server answers."""

    status: str = "ok"


class CorpusEntry(BaseModel):
    """A corpus that can be asked."""

    name: str
    version: str | None = Field(description="version of the snapshot, as listed by the command `snapshots`")


class CorpusList(BaseModel):
    """The corpora that can be asked, and those that cannot yet."""

    corpora: list[CorpusEntry]
    unindexed: list[str] = Field(description="names of the corpora that have not been indexed yet")


class TurnBody(BaseModel):
    """An earlier question and its answer."""

    model_config = ConfigDict(extra="forbid")

    question: Text
    answer: Text


class AskBody(BaseModel):
    """A question, and how to answer it."""

    model_config = ConfigDict(extra="forbid")

    # What the extras say is told to readers of the schema; who breaks it is told so as a bad question.
    question: Text = Field(
        description="at most 4,000 characters, unless the server is configured otherwise",
        json_schema_extra={"minLength": 1, "maxLength": 4000},
    )
    method: Text | None = Field(None, description=METHODS, json_schema_extra={"enum": _METHOD_NAMES})
    level: Text | None = Field(None, description=LEVELS, json_schema_extra={"examples": ["C1"]})
    history: list[TurnBody] = Field(default_factory=list, description="earlier turns, oldest first")
    response_type: Text | None = Field(
        None, description=RESPONSE_TYPES, json_schema_extra={"maxLength": LONGEST_RESPONSE_TYPE}
    )
    general_knowledge: Annotated[bool, Field(strict=True)] | None = Field(None, description=GENERAL_KNOWLEDGE)
    filters: Filters | None = Field(None, description=FILTERS)
    stream: Annotated[bool, Field(strict=True)] = Field(
        False, description="stream server-sent events: `delta` {text} …, then `answer` or `error`"
    )

    def asked(self) -> Question:
        """Return the question."""
        history = tuple(Turn(turn.question, turn.answer) for turn in self.history)
        filters = self.filters or ALL
        return Question(
            *(self.question, self.method, self.level, filters, history),
            *(self.response_type, self.general_knowledge),
        )


class AnswerBody(BaseModel):
    """An answer, what it rests on, and what it cost."""

    # An answer that says more than this is passed on whole.
    model_config = ConfigDict(extra="allow")

    question: str
    method: str
    level: int | None
    text: str
    engine: Engine
    refused: bool
    why: str | None
    sources: tuple[Source, ...]
    statements: tuple[Statement, ...]
    context: tuple[ContextUse, ...]
    scores: tuple[int, ...]
    dropped: int
    removed_citations: int
    problems: tuple[str, ...]
    steps: tuple[Call, ...] = Field(description="calls to the engine")
    trace: tuple[TraceSection, ...] = Field(
        description="how the search method arrived at the answer, in sections: rows by column, and "
        "the rows of the index that cells link to; a section with one row is a list of facts"
    )
    usage: Usage
    seconds: float | None
    query: Query | None
    scope: Scope | None = Field(
        description="what the answer was restricted to; pairs are the numbers inside the "
        "restriction and in the whole corpus"
    )
    favoured: tuple[Favoured, ...] = Field(
        description="documents that the question names, whose passages were preferred; only: no others were "
        "searched"
    )
    nearest: Source | None = Field(
        None,
        description="for a refused answer: the passage closest to the question, although it "
        "does not answer it",
    )
    heading: str = Field(
        description="a notice to show above the text, such as that no model was used; may be empty"
    )
    marks: tuple[Span, ...] = Field(
        description="the words of the text that answer the question, in code points; never in a link or code"
    )
    calls: int
    partly_supported: int
    unsupported: int
    general: int

    @classmethod
    def of(cls, answer: Answer) -> "AnswerBody":
        """Return the answer as a body."""
        return cls.model_validate(answer.to_dict())

    def json_values(self) -> dict[str, Any]:
        """Return values that JSON can hold."""
        return self.model_dump(mode="json")


class GraphQueryBody(BaseModel):
    """A query in Cypher with its parameters, or a question in plain words."""

    model_config = ConfigDict(extra="forbid")

    query: Text | None = Field(None, description=QUERIES, json_schema_extra={"maxLength": LONGEST_QUERY})
    parameters: dict[str, JsonValue] = Field(default_factory=dict, description=PARAMETERS)
    question: Text | None = Field(None, description=GRAPH_QUESTIONS)


class GraphRowsBody(BaseModel):
    """The rows of a query over the graph."""

    reading: str | None = Field(description="how the question was read; null for a query")
    query: str
    parameters: dict[str, JsonValue]
    columns: list[str]
    rows: list[list[JsonValue]] = Field(
        description="values by column; a node or relation is an object of its properties, with label"
    )
    more: bool = Field(description="whether there may be more rows")

    @classmethod
    def of(cls, ran: GraphQueryRun, reading: str | None = None) -> "GraphRowsBody":
        """Return a query that was run."""
        found = ran.found
        return cls(
            reading=reading,
            query=ran.text,
            parameters=dict(ran.parameters),
            columns=list(found.columns),
            rows=[list(row) for row in found.rows],
            more=found.more,
        )


class EntityEntry(Read):
    """An entity that was found."""

    entity_id: str
    title: str
    type: str
    description: str
    degree: int = Field(description="number of relationships")
    score: float = Field(description="how well it fits the query; higher is better")


class EntityList(BaseModel):
    """Entities, the best first."""

    entities: list[EntityEntry]


class ReportBody(Read):
    """A community report."""

    report_id: str
    title: str
    level: int
    rating: float | None = Field(description="importance, 0–10")
    content: str = Field(description="the full report in Markdown")


class SourceBody(Read):
    """A text unit: a passage of a document."""

    text_unit_id: str
    document_id: str
    document_title: str
    path: str = Field(description="path of the document, relative to the corpus folder")
    start_char: int
    end_char: int
    text: str
