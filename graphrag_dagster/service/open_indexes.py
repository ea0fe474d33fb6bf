"""Indexes that the servers have opened, and their cache."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from graphrag_dagster.apps.cypher.property_graph import GraphQueryRun
from graphrag_dagster.apps.cypher.text_to_cypher import CypherAnswer
from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.open_snapshots import SnapshotCache
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.question import Question


class OpenIndex(Protocol):
    """One published snapshot of a corpus; see ``Index``."""

    @property
    def version(self) -> str:
        """Which snapshot this is."""

    def answer(self, question: Question, listen: Callable[[str], None] | None = None) -> Answer:
        """Answer a question; ``listen`` hears the text as it comes."""

    def cypher(self, query: str, parameters: Mapping[str, Any] | None = None) -> GraphQueryRun:
        """Run a query in Cypher over the graph."""

    def ask_graph(self, question: str) -> CypherAnswer:
        """Answer a question by a query over the graph."""

    def embed(self, texts: Sequence[str], *, queries: bool = False) -> NDArray[np.float32]:
        """Return unit vectors of texts that are found, or looked for."""

    def search_entities(self, query: str, limit: int = 10) -> Sequence[object]:
        """Find entities."""

    def report(self, report_id: str) -> object:
        """Return a community report."""

    def source(self, text_unit_id: str) -> object:
        """Return a text unit."""


class Library(Protocol):
    """Where indexes are opened."""

    def open(self, name: str) -> OpenIndex:
        """Open the published snapshot of a corpus."""

    def names(self) -> list[str]:
        """The corpora that can be opened."""

    def unindexed(self) -> list[str]:
        """The corpora that have not been indexed yet."""

    def methods(self, name: str) -> list[str]:
        """The search methods that the index of a corpus supports."""

    def embedders(self) -> list[str]:
        """The embedders that need neither a corpus nor an endpoint."""

    def embed_here(self, name: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of texts by such an embedder."""

    def published_version(self, name: str) -> str:
        """What changes when another index of a corpus is published."""

    def snapshot(self, name: str) -> str | None:
        """The version of the snapshot of a corpus that is read; None where nothing was published."""

    def explorer(self, name: str, cache: SnapshotCache | None = None) -> Explorer:
        """What a person sees of a corpus."""


def real_library() -> Library:
    """The corpora of this machine."""
    from graphrag_dagster.index import Index

    return Index


class IndexCache:
    """Keeps the indexes used last, each until a newer snapshot is published; for one event loop."""

    def __init__(self, library: Library, max_open: int) -> None:
        self._library = library
        self._max_open = max_open
        self._open: OrderedDict[str, OpenIndex] = OrderedDict()
        self._opening: dict[str, asyncio.Task[OpenIndex]] = {}

    async def get(self, name: str) -> OpenIndex:
        """Return the index of the snapshot that is published now; callers at the same time share one opening.

        Raises:
            GraphragError: it cannot be opened.
        """
        held = self._open.get(name)
        if held is not None:
            if await self._published(name) == held.version:
                if name in self._open:
                    self._open.move_to_end(name)
                return held
            if self._open.get(name) is held:
                del self._open[name]
        opening = self._opening.get(name)
        if opening is None:
            opening = asyncio.create_task(self._load(name))
            self._opening[name] = opening
            opening.add_done_callback(lambda done: self._opened(name, done))
        return await asyncio.shield(opening)

    async def _published(self, name: str) -> str | None:
        try:
            return await run_sync(self._library.published_version, name)
        except GraphragError:
            return None

    async def _load(self, name: str) -> OpenIndex:
        return await run_sync(self._library.open, name)

    def _opened(self, name: str, done: asyncio.Task[OpenIndex]) -> None:
        del self._opening[name]
        # Asking for the exception marks it as seen where every caller has gone away.
        if done.cancelled() or done.exception() is not None:
            return
        self._open[name] = done.result()
        self._open.move_to_end(name)
        while len(self._open) > self._max_open:
            self._open.popitem(last=False)
