"""Work in several processes, with results in order."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from graphrag_dagster.errors import EngineError

Result = TypeVar("Result")
_MOST_PROCESSES = 8
#: Calls of each process that are handed out before the first result is taken.
_AHEAD = 4


def suitable_process_count(items: int, worth: int) -> int:
    """Return a suitable number of processes for so many items; one if they are fewer than ``worth``."""
    return 1 if items < worth else min(available_processors(), _MOST_PROCESSES)


def available_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_processes(
    number: int,
    work: Callable[..., Result],
    calls: Iterable[tuple[Any, ...]],
    *,
    whose: str,
    setting: str,
    begin: Callable[..., None] | None = None,
    given: tuple[Any, ...] = (),
) -> Iterator[Result]:
    """Yield the results of calls in their order.

    Args:
        number: number of processes.
        work: a module-level function, so that other processes can import it.
        calls: arguments of each call, taken as processes come to need them.
        whose: owner of the processes, for the error message.
        setting: the setting that determines their number.
        begin: called first in each process; module-level like ``work``.
        given: its arguments.

    Raises:
        EngineError: a process died.
    """
    pending = iter(calls)
    others = set(multiprocessing.active_children())
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=spawned, initializer=begin, initargs=given) as pool:
        with sigint_ignored():
            waiting = deque(pool.submit(work, *call) for call in islice(pending, number * _AHEAD))
        try:
            # Popped, so that a result that was passed on is not kept here as well.
            while waiting:
                result = waiting.popleft().result()
                waiting.extend(pool.submit(work, *call) for call in islice(pending, 1))
                yield result
                del result
        except BrokenProcessPool as error:
            raise EngineError(
                f"a worker process of {whose} died ({error}); set {setting} to 1, or lower than now if "
                "memory ran out"
            ) from error
        except BaseException:
            # Nobody needs the rest. After Ctrl-C, do not wait for pending work.
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def sigint_ignored() -> Iterator[None]:
    """Start processes in the block that ignore Ctrl-C, which a terminal sends to the whole group.

    Their parent ends them. It receives a pending Ctrl-C when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
