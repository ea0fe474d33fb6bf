"""Batches of reports that are written concurrently, later ones while earlier ones are still running."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, TypeVar

import numpy as np

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.tasks.ports import ReportRequest, ReportWriter, WrittenReport
from graphrag_dagster.systems.graphrag.reports.elements import Elements

T = TypeVar("T")

#: At once; those of a large graph are begun in a dozen batches, and its larger communities by themselves.
_WAVES = 32
_CHARACTERS_PER_TOKEN = 4
#: Enough to keep an endpoint busy while the next are packed.
_FIRST = 64


class Waves(Generic[T]):
    """Hands batches to a writer, each in a thread of its own; a context manager.

    A report that depends on others can be begun as soon as those are there, without waiting for the rest.

    Args:
        writer: writes the reports; must allow several calls at once.
    """

    def __init__(self, writer: ReportWriter) -> None:
        self._writer = writer
        self._threads = ThreadPoolExecutor(max_workers=_WAVES, thread_name_prefix="report-wave")
        self._came: SimpleQueue[tuple[T, WrittenReport] | BaseException] = SimpleQueue()
        self._under_way = 0
        self._stopped = False

    def __enter__(self) -> "Waves[T]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        self._threads.shutdown(cancel_futures=True)

    def begin(self, batch: Sequence[tuple[T, ReportRequest]]) -> None:
        """Begin a batch of requests, each with what it is for."""
        self._under_way += len(batch)
        self._threads.submit(self._write, batch)

    def results(self, most: int | None = 0) -> Iterator[tuple[T, WrittenReport]]:
        """Yield what was asked for and its report, as they come, until no more than ``most`` are under way.

        None for any number.

        Raises:
            EngineError: the writer did not give one report per request.
        """
        while most is not None and self._under_way > most:
            came = self._came.get()
            if isinstance(came, BaseException):
                raise came
            self._under_way -= 1
            yield came

    def _write(self, batch: Sequence[tuple[T, ReportRequest]]) -> None:
        given = 0
        try:
            for given, report in enumerate(self._writer.write([request for _, request in batch]), start=1):
                if self._stopped:
                    return
                if given <= len(batch):
                    self._came.put((batch[given - 1][0], report))
            if given != len(batch):
                raise EngineError(
                    f"the {self._writer.engine} report writer returned {given} reports for {len(batch)} "
                    "requests: it must return one per request, in order"
                )
        except BaseException as error:
            self._came.put(error)


def most_urgent_first(
    communities: Iterable[dict[str, Any]], elements: Elements, limit: int
) -> list[dict[str, Any]]:
    """Return rows of ``graph.communities`` in the order in which their reports are best begun.

    Those come first that a larger community is likely to wait for, then what is large and takes long, since
    begun last it would keep all waiting. Sizes are told from the lengths of texts, before anything is packed.

    Args:
        communities: the rows.
        elements: the indexed graph.
        limit: most tokens of a context.
    """
    entities, edges = (
        np.fromiter(map(len, rows.texts), np.int64, len(rows.texts))
        for rows in (elements.entities, elements.relationships)
    )
    size = {
        name: int(entities[one.members].sum() + edges[one.edges].sum())
        for name, one in elements.communities.items()
    }

    def urgency(community: dict[str, Any]) -> tuple[bool, int, str]:
        name = community["community_id"]
        return size.get(community["parent_id"], 0) <= limit * _CHARACTERS_PER_TOKEN, -size[name], name

    return sorted(communities, key=urgency)


def doubling(items: Sequence[T], most: int | None = None) -> Iterator[Sequence[T]]:
    """Yield batches of items, a small one first and each twice as long as the one before, up to ``most``."""
    start, size = 0, min(_FIRST, most or _FIRST)
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, min(2 * size, most or 2 * size)
