"""The routes below ``/corpora``."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.error_responses import documented_errors
from graphrag_dagster.service.question_stream import (
    cancel_on_disconnect,
    plain,
    stream,
    stream_responses,
    streaming,
)
from graphrag_dagster.service.request_models import (
    AnswerBody,
    AskBody,
    CorpusList,
    EntityList,
    GraphQueryBody,
    GraphRowsBody,
    ReportBody,
    SourceBody,
)

Corpus = Annotated[str, Path(description="name of a corpus")]
_STREAMED = stream_responses(
    "The answer. With `stream`: `delta` events with pieces of its text, then `answer` or `error`.",
    *("delta", "answer", "error"),
)


def corpora_router(backend: Backend) -> APIRouter:
    """Return the routes to list, ask and look up corpora."""
    router = APIRouter(prefix="/corpora", tags=["corpora"])

    @router.get("", responses=documented_errors())
    async def list_corpora() -> CorpusList:
        """List the corpora that can be asked."""
        return await backend.corpora()

    @router.post(
        "/{corpus}/ask",
        response_model=AnswerBody,
        responses={200: _STREAMED, **documented_errors(400, 402, 404, 409, 429, 502, 504)},
    )
    async def ask(corpus: Corpus, body: AskBody, request: Request) -> Response:
        """Answer a question from a corpus, with sources."""
        asking = await cancel_on_disconnect(request, backend.ask(corpus, body.asked()))
        if not body.stream:
            answer = await cancel_on_disconnect(request, asking.answer())
            return JSONResponse(AnswerBody.of(answer).json_values())
        settings = backend.settings
        first = await cancel_on_disconnect(request, asking.hear(settings.head_start_seconds))
        return streaming(stream(asking, first, plain, settings.ping_seconds))

    @router.post("/{corpus}/cypher", responses=documented_errors(400, 402, 404, 409, 429, 502))
    async def cypher(corpus: Corpus, body: GraphQueryBody, request: Request) -> GraphRowsBody:
        """Query the graph of a corpus in Cypher, or by a question in plain words."""
        return await cancel_on_disconnect(request, backend.cypher(corpus, body))

    @router.get("/{corpus}/entities", responses=documented_errors(400, 402, 404, 409))
    async def search_entities(
        corpus: Corpus,
        query: Annotated[str, Query(description="words to search for", min_length=1, max_length=4_000)],
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> EntityList:
        """Find entities by words and meaning."""
        return await backend.entities(corpus, query, limit)

    @router.get("/{corpus}/reports/{report_id}", responses=documented_errors(404, 409))
    async def read_report(corpus: Corpus, report_id: str) -> ReportBody:
        """Read a community report."""
        return await backend.report(corpus, report_id)

    @router.get("/{corpus}/sources/{text_unit_id}", responses=documented_errors(404, 409))
    async def read_source(corpus: Corpus, text_unit_id: str) -> SourceBody:
        """Read a passage of a document."""
        return await backend.source(corpus, text_unit_id)

    return router
