"""Concurrent calls for synchronous callers.

All calls run on one event loop in a thread of its own that lives as long as the process: connections outlast
single tasks, and a caller may itself be inside a running loop, as notebooks are.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar

from graphrag_dagster.kernel.common.progress import ProgressStage, stage

T = TypeVar("T")
R = TypeVar("R")

#: Jobs under way per call in flight. A job is a conversation of several calls, of which the endpoint takes
#: the oldest first: with so many begun, the last calls of a stage are short ones of many jobs, not the whole
#: conversations of a few.
_AHEAD = 32


class _LoopThread:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="language-model-calls", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        # Else each layer of the client finds out several times a call that this is asyncio.
        with suppress(ImportError):
            from sniffio import thread_local

            thread_local.name = "asyncio"
        self.loop.run_forever()


_lock = threading.Lock()
_running: _LoopThread | None = None


def _loop() -> asyncio.AbstractEventLoop:
    global _running
    with _lock:
        # A forked process inherits the object but not the thread.
        if _running is None or not _running.thread.is_alive():
            _running = _LoopThread()
        return _running.loop


class _Job:
    """State of a job.

    Attributes:
        sent: its requests that are under way.
        ending: whether it is to send no more.
    """

    def __init__(self) -> None:
        self.sent = 0
        self.ending = False


_job: ContextVar[_Job | None] = ContextVar("_job", default=None)


def check_may_send() -> None:
    """Do nothing, unless the run of the job that calls is ending.

    Raises:
        asyncio.CancelledError: it is, and nothing is to be sent any more.
    """
    job = _job.get()
    if job is not None and job.ending:
        raise asyncio.CancelledError


@contextmanager
def allow_sending() -> Iterator[None]:
    """Say that a request is under way: where another call ends the run, its reply is still waited for.

    Raises:
        asyncio.CancelledError: as :func:`check_may_send`.
    """
    check_may_send()
    job = _job.get()
    if job is None:
        yield
        return
    job.sent += 1
    try:
        yield
    finally:
        job.sent -= 1


def run_in_order(
    work: Callable[[T], Coroutine[Any, Any, R]],
    items: Iterable[T],
    *,
    calls: int,
    name: str | None = None,
    total: int | None = None,
) -> Iterator[R]:
    """Yield ``work(item)`` for every item in the order of the items, many at a time.

    A slow item holds up no other: results that are done wait for it, and further items begin meanwhile. The
    first error ends the run: nothing more is sent, but replies that are on their way are waited for, since
    they are paid for.

    Args:
        work: makes the coroutine of one item.
        items: taken as others finish, many ahead of the calls in flight.
        calls: most calls in flight; the model itself keeps to it, here it sets how far to run ahead.
        name: stage of progress, one step per finished item; None reports none.
        total: number of items.
    """
    with stage(name, total) if name else nullcontext() as running:
        jobs: _Jobs[R] = _Jobs(_loop(), calls * _AHEAD, running)
        try:
            for item in items:
                jobs.begin(work(item))
                yield from jobs.ready()
            yield from jobs.rest()
            jobs.settle()
        finally:
            jobs.end()


def run_largest_first(
    work: Callable[[T], Coroutine[Any, Any, R]],
    items: Sequence[T],
    *,
    size: Callable[[T], float],
    calls: int,
    name: str | None = None,
) -> list[R]:
    """Return ``work(item)`` for every item in the order of the items, the largest begun first.

    What is large takes long: begun last, it would keep a stage waiting with all other connections idle.

    Args:
        work: makes the coroutine of one item.
        items: all there are.
        size: of an item, in any unit.
        calls: most calls in flight.
        name: stage of progress, one step per finished item; None reports none.
    """
    order = sorted(range(len(items)), key=lambda place: -size(items[place]))
    made = run_in_order(work, (items[place] for place in order), calls=calls, name=name, total=len(items))
    by_place = dict(zip(order, made, strict=True))
    return [by_place[place] for place in range(len(items))]


class _Jobs(Generic[R]):
    """Jobs in the order in which they were begun; ``most`` of them may be unfinished at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int, running: ProgressStage | None) -> None:
        self._loop = loop
        self._places = threading.Semaphore(most)
        self._begun = 0
        self._reported = threading.Semaphore(0)
        self._pending: deque[Future[R]] = deque()
        self._jobs: dict[Future[R], _Job] = {}
        self._running = running
        self._error: BaseException | None = None

    def begin(self, coroutine: Coroutine[Any, Any, R]) -> None:
        """Begin a job as soon as there is a place for it.

        Raises:
            BaseException: what another job ended with.
        """
        self._places.acquire()
        if self._error:
            coroutine.close()
            raise self._error
        job, context = _Job(), copy_context()
        context.run(_job.set, job)
        future = context.run(asyncio.run_coroutine_threadsafe, coroutine, self._loop)
        self._jobs[future] = job
        self._pending.append(future)
        self._begun += 1
        future.add_done_callback(self._done)

    def ready(self) -> Iterator[R]:
        """Yield the results at the head of the order that are there already."""
        while self._pending and self._pending[0].done():
            yield self._oldest()

    def rest(self) -> Iterator[R]:
        """Yield all results that are left."""
        while self._pending:
            yield self._oldest()

    def settle(self) -> None:
        """Wait until every job that has ended is reported as a step."""
        # A result is there a moment before its callback has run.
        for _ in range(self._begun):
            self._reported.acquire()

    def end(self) -> None:
        """Cancel what is left; after an error only once the requests under way are answered."""
        try:
            if self._error:
                wait(list(self._pending))
        finally:
            for future in list(self._pending):
                future.cancel()

    def _send_no_more(self) -> None:
        for future, job in list(self._jobs.items()):
            job.ending = True
            if not job.sent:
                future.cancel()

    def _oldest(self) -> R:
        # Taken out only when done: interrupted while waiting, it is still there to be cancelled.
        try:
            result = self._pending[0].result()
        except CancelledError:
            raise self._error or CancelledError() from None
        self._pending.popleft()
        return result

    def _done(self, future: Future[R]) -> None:
        self._jobs.pop(future, None)
        error = None if future.cancelled() else future.exception()
        if error and self._error is None:
            self._error = error
            self._send_no_more()
        if self._running and not future.cancelled() and error is None:
            self._running.advance()
        self._reported.release()
        self._places.release()


def run_one(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run one coroutine on the loop of the calls and return its result."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()
