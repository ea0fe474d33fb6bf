"""Operations shared by the HTTP and MCP servers: find corpora, look things up, ask."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.open_snapshots import SnapshotCache
from graphrag_dagster.errors import EngineError, GraphragError, PluginError, QuestionError
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.service.error_responses import Refusal
from graphrag_dagster.service.open_indexes import IndexCache, Library, OpenIndex, real_library
from graphrag_dagster.service.question_stream import QuestionRunner, RunningQuestion
from graphrag_dagster.service.request_models import (
    CorpusEntry,
    CorpusList,
    EntityEntry,
    EntityList,
    GraphQueryBody,
    GraphRowsBody,
    ReportBody,
    SourceBody,
)
from graphrag_dagster.service.settings import ServiceSettings

_T = TypeVar("_T")
#: Reads of published tables at a time; each uses all processors.
_LOOKERS = 4


class Backend:
    """Corpora to ask, within limits; for one event loop.

    Args:
        settings: the limits.
        library: where indexes are opened; default: the corpora of this machine.
    """

    def __init__(self, settings: ServiceSettings, library: Library | None = None) -> None:
        self.settings = settings
        self._given = library
        self._cache: IndexCache | None = None
        self._lookers: CapacityLimiter | None = None
        self._snapshots = SnapshotCache(settings.max_open)
        self.runner = QuestionRunner(settings)

    async def names(self) -> list[str]:
        """Return the names of the corpora that can be asked."""
        library, _ = await self._library()
        return await run_sync(library.names)

    async def methods(self) -> dict[str, list[str]]:
        """Return the corpora that can be asked, and in which ways; none of one whose settings are broken."""
        library, _ = await self._library()
        return await run_sync(lambda: {name: _methods(library, name) for name in library.names()})

    async def corpora(self) -> CorpusList:
        """Return the corpora that can be asked."""
        library, _ = await self._library()

        def listed() -> CorpusList:
            entries = [CorpusEntry(name=name, version=_version(library, name)) for name in library.names()]
            return CorpusList(corpora=entries, unindexed=library.unindexed())

        return await run_sync(listed)

    async def index(self, corpus: str) -> OpenIndex:
        """Return the index of a corpus.

        Raises:
            GraphragError: it cannot be opened.
        """
        _, cache = await self._library()
        return await cache.get(corpus)

    async def ask(self, corpus: str, question: Question) -> RunningQuestion:
        """Begin to answer a question.

        Raises:
            GraphragError: the corpus cannot be opened, or the question is too long.
            Refusal: too many questions are being answered.
        """
        return await self.runner.begin(await self.index(corpus), question)

    async def cypher(self, corpus: str, body: GraphQueryBody) -> GraphRowsBody:
        """Run a query over the graph of a corpus, or one that a question is made into.

        Raises:
            GraphragError: the corpus cannot be opened, or the query is refused, fails or reaches a limit.
            Refusal: too many questions are being answered.
        """
        if (body.query is None) == (body.question is None):
            raise QuestionError("give either a query or a question")
        if body.question is not None and body.parameters:
            raise QuestionError("parameters only apply to a query; omit them with a question")
        index = await self.index(corpus)

        def run() -> GraphRowsBody:
            if body.question is None:
                return GraphRowsBody.of(index.cypher(body.query or "", body.parameters))
            answer = index.ask_graph(body.question)
            return GraphRowsBody.of(answer.ran, answer.reading)

        return await self.runner.do(run)

    async def embedders(self) -> list[str]:
        """Return the names of the embedders that need no corpus."""
        library, _ = await self._library()
        return await run_sync(library.embedders)

    async def embed(self, corpus: str, texts: Sequence[str], *, queries: bool) -> NDArray[np.float32]:
        """Return vectors of texts as the index of a corpus has them, or as its questions are embedded.

        Raises:
            GraphragError: the corpus cannot be opened, or its embedder cannot be used.
            Refusal: (429) too much is being done; (504) it takes too long.
        """
        index = await self.index(corpus)
        return await self.runner.do(lambda: index.embed(texts, queries=queries))

    async def embed_here(self, name: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of texts by an embedder that needs no corpus; see :meth:`embed`.

        Raises:
            QuestionError: the embedder is not installed here.
        """
        library, _ = await self._library()
        try:
            return await self.runner.do(lambda: library.embed_here(name, texts))
        except PluginError:
            raise
        except EngineError as error:
            raise QuestionError(str(error)) from error

    async def entities(self, corpus: str, query: str, limit: int) -> EntityList:
        """Return the entities that fit a query best."""
        index = await self.index(corpus)
        found = await run_sync(index.search_entities, query, limit)
        return EntityList(entities=[EntityEntry.model_validate(hit) for hit in found])

    async def report(self, corpus: str, report_id: str) -> ReportBody:
        """Return a community report.

        Raises:
            Refusal: (404) there is no such report.
        """
        index = await self.index(corpus)
        return ReportBody.model_validate(await _lookup_errors(index.report, report_id, "report_not_found"))

    async def source(self, corpus: str, text_unit_id: str) -> SourceBody:
        """Return a text unit.

        Raises:
            Refusal: (404) there is no such text unit.
        """
        index = await self.index(corpus)
        return SourceBody.model_validate(await _lookup_errors(index.source, text_unit_id, "source_not_found"))

    async def explore(self, corpus: str, look: Callable[[Explorer], _T]) -> _T:
        """Return what is seen of a corpus.

        Raises:
            GraphragError: it cannot be read, or what was asked for is not there.
        """
        library, _ = await self._library()
        if self._lookers is None:
            self._lookers = CapacityLimiter(_LOOKERS)
        return await run_sync(lambda: look(library.explorer(corpus, self._snapshots)), limiter=self._lookers)

    async def make_ready(self) -> None:
        """Load what the first who asks would wait for."""
        await self._library()

    def close(self) -> None:
        """Let go of the snapshots that are open."""
        self._snapshots.close()

    async def _library(self) -> tuple[Library, IndexCache]:
        # The first import of the real one takes seconds, so it is not done in the event loop.
        library = await run_sync(real_library) if self._given is None else self._given
        if self._cache is None:
            self._cache = IndexCache(library, self.settings.max_open)
        return library, self._cache


def _methods(library: Library, name: str) -> list[str]:
    try:
        return library.methods(name)
    except GraphragError:
        return []


def _version(library: Library, name: str) -> str | None:
    try:
        return library.snapshot(name)
    except GraphragError:
        return None


async def _lookup_errors(look_up: Callable[[str], _T], key: str, kind: str) -> _T:
    try:
        return await run_sync(look_up, key)
    except QuestionError as error:
        raise Refusal(404, kind, str(error)) from error
