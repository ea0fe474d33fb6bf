"""Batches of reports that are written at the same time, later ones while earlier ones still are."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, TypeVar

from graphrag_dagster.core.language.tasks import ReportRequest, ReportWriter, WrittenReport
from graphrag_dagster.errors import EngineError

T = TypeVar("T")

#: At once; those of a large graph are begun in a dozen batches, and its larger communities by themselves.
_WAVES = 32


class Waves(Generic[T]):
    """Hands batches to a writer, each in a thread of its own; a context manager.

    A report that depends on others can be begun as soon as those are there, without waiting for the rest.

    Args:
        writer: writes the reports; must allow several calls at once.
        at_once: most requests that are under way while more are made; None for any number.
    """

    def __init__(self, writer: ReportWriter, at_once: int | None = None) -> None:
        self.at_once = at_once
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

    def awaited(self) -> Iterator[tuple[T, WrittenReport]]:
        """Yield as :meth:`results` does, until no more are under way than may be."""
        return self._until(self.at_once) if self.at_once is not None else iter(())

    def results(self) -> Iterator[tuple[T, WrittenReport]]:
        """Yield what was asked for and its report, as they come, until nothing is under way.

        Raises:
            EngineError: the writer did not give one report per request.
        """
        return self._until(0)

    def _until(self, most: int) -> Iterator[tuple[T, WrittenReport]]:
        while self._under_way > most:
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
                    f"the {self._writer.engine} report writer gave {given} reports for {len(batch)} "
                    "requests: it must give one per request, in their order"
                )
        except BaseException as error:
            self._came.put(error)
