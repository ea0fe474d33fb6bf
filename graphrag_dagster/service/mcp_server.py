"""The corpora as tools of the Model Context Protocol, over standard input or HTTP."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Annotated, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field, JsonValue
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from graphrag_dagster import __version__
from graphrag_dagster.kernel.common.printable import printable
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.document_filters import ALL, Filters
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.storage.queries import Query
from graphrag_dagster.kernel.tasks.task_ports import Engine
from graphrag_dagster.kernel.text.evidence import Evidence
from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.error_responses import Refusal, error_response, refusal_of
from graphrag_dagster.service.request_models import (
    FILTERS,
    GENERAL_KNOWLEDGE,
    GRAPH_QUESTIONS,
    LEVELS,
    METHODS,
    PARAMETERS,
    QUERIES,
    RESPONSE_TYPES,
    CorpusList,
    EntityList,
    GraphQueryBody,
    GraphRowsBody,
    Read,
    ReportBody,
    SourceBody,
)
from graphrag_dagster.service.settings import ServiceSettings

INSTRUCTIONS = (
    "Collections of documents (corpora) that you can ask questions about. Begin with list_corpora. "
    "ask answers a question from a corpus; the marks [1], [2] … in its text are the numbers of "
    "its sources, which quote the documents. To check a source, read its passage with "
    "read_source or its report with read_report. A refused answer means that nothing was "
    "found: its text says what was searched and shows the closest passage, which does not "
    "answer the question."
)
_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
_T = TypeVar("_T")

Corpus = Annotated[str, Field(description="name of a corpus, from list_corpora")]


class CitedSource(Read):
    """What a mark ``[number]`` in the answer stands for."""

    number: int
    kind: str = Field(
        description="what is cited: report, entity, relationship, claim, passage or row; "
        "own_context is text that a model wrote from its own knowledge, not from a document"
    )
    record_id: str = Field(description="id of the cited record; pass the id of a report to read_report")
    title: str
    evidence: Evidence | None = Field(
        description="the passage of a document that supports it: pass its text_unit_id to "
        "read_source; a triple of the graph if a cited relationship has no known passage; a "
        "row of a table; or text that a model wrote itself, which is not from a document"
    )


class CitedAnswer(Read):
    """An answer with its sources."""

    text: str
    refused: bool = Field(description="no answer was found; the text says what was searched")
    method: str
    level: int | None
    why: str | None = Field(
        description="why this method was chosen, which documents were searched, and which were preferred"
    )
    engine: Engine = Field(description="extractive: sentences of the documents; llm: written by a model")
    sources: list[CitedSource]
    nearest: CitedSource | None = Field(
        description="for a refused answer: the passage closest to the question, although it does "
        "not answer it"
    )
    query: Query | None = Field(description="the SQL query whose rows the text reports")
    problems: list[str] = Field(description="replies that could not be used, with the reason")
    usage: Usage


async def _told(work: Awaitable[_T]) -> _T:
    """Do the work of a tool; what goes wrong is told as an error of the tool, with its mend."""
    try:
        return await work
    except Exception as error:
        raise ToolError(printable(refusal_of(error).message)) from None


def make_server(backend: Backend) -> MCPServer:
    """Return a server of the tools."""
    server = MCPServer(
        "graphrag-dagster",
        title="graphrag_dagster",
        version=__version__,
        instructions=INSTRUCTIONS,
        log_level="WARNING",
    )

    @server.tool(title="List the corpora", annotations=_READS)
    async def list_corpora() -> CorpusList:
        """List the corpora that can be asked."""
        return await _told(backend.corpora())

    @server.tool(title="Ask a corpus", annotations=_READS)
    async def ask(
        corpus: Corpus,
        question: Annotated[str, Field(description="a question in plain words")],
        method: Annotated[str | None, Field(description=METHODS)] = None,
        level: Annotated[str | None, Field(description=LEVELS)] = None,
        response_type: Annotated[str | None, Field(description=RESPONSE_TYPES)] = None,
        general_knowledge: Annotated[bool | None, Field(description=GENERAL_KNOWLEDGE)] = None,
        filters: Annotated[Filters | None, Field(description=FILTERS)] = None,
    ) -> CitedAnswer:
        """Answer a question from the documents of a corpus, with quoted sources.

        Good for questions about the whole collection (themes, overviews, comparisons) and about single
        people, organisations, places and events in it. It may take a minute.
        """

        async def answer() -> CitedAnswer:
            asked = Question(
                *(question, method, level),
                response_type=response_type,
                general_knowledge=general_knowledge,
                filters=filters or ALL,
            )
            asking = await backend.ask(corpus, asked)
            return CitedAnswer.model_validate(await asking.answer())

        return await _told(answer())

    @server.tool(title="Query the graph", annotations=_READS)
    async def query_graph(
        corpus: Corpus,
        query: Annotated[str | None, Field(description=QUERIES)] = None,
        parameters: Annotated[dict[str, JsonValue] | None, Field(description=PARAMETERS)] = None,
        question: Annotated[str | None, Field(description=GRAPH_QUESTIONS)] = None,
    ) -> GraphRowsBody:
        """Query the graph of a corpus in Cypher: paths, neighbours, counts.

        Nodes are Entity (title, name, type, description, degree), Community, Report, TextUnit, Document;
        entities are joined by RELATED (relation, strength), and lie IN_COMMUNITY and are MENTIONED_IN text
        units, which are PART_OF documents. Paths have a bound of at most 4, such as [:RELATED*1..3].
        """
        body = GraphQueryBody(query=query, parameters=parameters or {}, question=question)
        return await _told(backend.cypher(corpus, body))

    @server.tool(title="Search the entities", annotations=_READS)
    async def search_entities(
        corpus: Corpus,
        query: Annotated[str, Field(description="a name, or words that describe the entity", min_length=1)],
        limit: Annotated[int, Field(description="maximum number of entities", ge=1, le=100)] = 10,
    ) -> EntityList:
        """Find people, organisations, places and other entities of a corpus, with their descriptions."""
        return await _told(backend.entities(corpus, query, limit))

    @server.tool(title="Read a report", annotations=_READS)
    async def read_report(
        corpus: Corpus,
        report_id: Annotated[str, Field(description="record_id of a source whose kind is report")],
    ) -> ReportBody:
        """Read the whole report on a community of entities."""
        return await _told(backend.report(corpus, report_id))

    @server.tool(title="Read a passage", annotations=_READS)
    async def read_source(
        corpus: Corpus,
        text_unit_id: Annotated[str, Field(description="text_unit_id of a source's evidence")],
    ) -> SourceBody:
        """Read the passage of a document that a source quotes, with its place in the document."""
        return await _told(backend.source(corpus, text_unit_id))

    return server


def run_stdio() -> None:
    """Serve the tools on standard input and output until the input ends."""
    make_server(Backend(ServiceSettings())).run("stdio")


PATH = "/mcp"


class McpOverHttp:
    """Serves the tools at ``/mcp`` while it is running."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._app: ASGIApp | None = None
        self.route = Route(PATH, endpoint=self, include_in_schema=False)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while inside."""
        server = make_server(self._backend)
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=self._backend.settings.max_body_bytes,
            # The guard of the application has checked Host and Origin.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        async with server.session_manager.run():
            self._app = app
            try:
                yield
            finally:
                self._app = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._app is None:
            refusal = Refusal(
                503, "not_running", "the server is starting or shutting down; try again in a moment"
            )
            await error_response(PATH, refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)
