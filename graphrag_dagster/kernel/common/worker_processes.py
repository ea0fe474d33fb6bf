"""Work done by several processes, with its results in order."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from graphrag_dagster.errors import EngineError

Result = TypeVar("Result")
_MOST_PROCESSES = 8


def chosen_processes(items: int, worth: int) -> int:
    """Return how many processes suit so many items; one where there are fewer than it is ``worth``."""
    if items < worth:
        return 1
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, _MOST_PROCESSES)


def in_processes(
    number: int,
    work: Callable[..., Result],
    calls: Sequence[tuple[Any, ...]],
    *,
    whose: str,
    setting: str,
    begin: Callable[..., None] | None = None,
    given: tuple[Any, ...] = (),
) -> Iterator[Result]:
    """Yield the results of calls in their order.

    Args:
        number: of processes.
        work: a function at module level, so that other processes find it.
        calls: its arguments, call by call.
        whose: processes they are, for the error.
        setting: that says how many there are.
        begin: called in each process before anything else; as ``work``.
        given: its arguments.

    Raises:
        EngineError: a process died.
    """
    others = set(multiprocessing.active_children())
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=spawned, initializer=begin, initargs=given) as pool:
        with _uninterrupted():
            waiting = deque(pool.submit(work, *call) for call in calls)
        try:
            # What was handed on is not held here as well.
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise EngineError(
                f"a worker process of {whose} died ({error}); set {setting} to 1, or lower than now if "
                "memory ran out"
            ) from error
        except BaseException:
            # Nobody wants the rest: who pressed Ctrl-C waits for nothing that is being worked at.
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Processes that are begun in the block never hear of Ctrl-C, which a terminal sends to all of a group.

    Who began them ends them; this process hears of what came meanwhile when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
