"""Many calls at once for callers that know nothing of asyncio.

All calls run on one event loop in a thread of its own that lives as long as the process: connections outlast
single tasks, and a caller may itself be inside a running loop, as notebooks are.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, TypeVar

from graphrag_dagster.core.progress import Stage, stage

T = TypeVar("T")
R = TypeVar("R")

#: Jobs under way per call in flight, so that one slow job does not leave the endpoint idle.
_AHEAD = 4


class _LoopThread:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="language-model-calls", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
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


def run_in_order(
    work: Callable[[T], Coroutine[Any, Any, R]],
    items: Iterable[T],
    *,
    calls: int,
    name: str | None = None,
    total: int | None = None,
) -> Iterator[R]:
    """Yield ``work(item)`` for every item in the order of the items, many at a time.

    The first error ends the run: what is under way is cancelled.

    Args:
        work: makes the coroutine of one item.
        items: taken as results are taken, a few ahead.
        calls: most calls in flight; the model itself keeps to it, here it sets how far to run ahead.
        name: stage of progress, one step per result; None reports none.
        total: number of items.
    """
    loop = _loop()
    pending: deque[Future[R]] = deque()
    with stage(name, total) if name else nullcontext() as running:
        try:
            for item in items:
                pending.append(asyncio.run_coroutine_threadsafe(work(item), loop))
                if len(pending) >= calls * _AHEAD:
                    yield _oldest(pending, running)
            while pending:
                yield _oldest(pending, running)
        finally:
            for future in pending:
                future.cancel()


def _oldest(pending: deque[Future[R]], running: Stage | None) -> R:
    # Taken out only when done: interrupted while waiting, it is still there to be cancelled.
    result = pending[0].result()
    pending.popleft()
    if running:
        running.advance()
    return result


def run_one(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run one coroutine on the loop of the calls and return its result."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()
