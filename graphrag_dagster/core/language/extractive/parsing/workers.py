"""Runs a function over text units in this process or in several, with the same results."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_dagster.core.language.extractive.parsing.pipeline import load_pipeline
from graphrag_dagster.core.language.tasks import UnitExtraction
from graphrag_dagster.core.progress import stage
from graphrag_dagster.errors import EngineError

if TYPE_CHECKING:
    from spacy.language import Language

Item = TypeVar("Item")
_WORTH_PROCESSES = 200
_MOST_PROCESSES = 8
_AT_ONCE = 16


def map_units(
    work: Callable[["Language", Item], UnitExtraction],
    items: Sequence[Item],
    *,
    stage_name: str,
    pipeline: str,
    processes: int,
    lemmas: bool = False,
) -> Iterator[UnitExtraction]:
    """Yield ``work(nlp, item)`` for each item, in order.

    Args:
        work: a function at module level, so that other processes find it.
        items: what ``work`` is called with.
        stage_name: what progress is reported as.
        pipeline: name of the spaCy pipeline.
        processes: number of processes; 0 chooses.
        lemmas: whether ``work`` needs lemmas.

    Raises:
        EngineError: see :func:`load_pipeline`; or a worker process died.
    """
    number = min(processes or _chosen(len(items)), max(1, len(items)))
    with stage(stage_name, len(items)) as running:
        if number == 1:
            for item in items:
                yield work(load_pipeline(pipeline, lemmas), item)
                running.advance()
            return
        # A pipeline that does not load is told of here, not by a broken pool.
        load_pipeline(pipeline, lemmas)
        chunks = [items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE)]
        calls = [(work, pipeline, lemmas, chunk) for chunk in chunks]
        for results in _in_pool(number, calls):
            yield from results
            running.advance(len(results))


def _in_pool(number: int, calls: Sequence[tuple[Any, ...]]) -> Iterator[list[UnitExtraction]]:
    """Yield the results of :func:`_work_off` in the order of the calls."""
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("spawn")) as pool:
        with _uninterrupted():
            waiting = [pool.submit(_work_off, *call) for call in calls]
        try:
            for done in waiting:
                yield done.result()
        except BrokenProcessPool as error:
            raise EngineError(
                f"a worker process of the extractive engine died ({error}); set extraction.processes to 1, "
                "or lower than now if memory ran out"
            ) from error
        except BaseException:
            # Nobody wants the rest: who pressed Ctrl-C waits for no sentence that is being parsed.
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


def _chosen(items: int) -> int:
    if items < _WORTH_PROCESSES:
        return 1
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, _MOST_PROCESSES)


def _work_off(
    work: Callable[["Language", Item], UnitExtraction], pipeline: str, lemmas: bool, items: Sequence[Item]
) -> list[UnitExtraction]:
    nlp = load_pipeline(pipeline, lemmas)
    return [work(nlp, item) for item in items]
