"""Runs a function over text units in this process or in several, with the same results."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from graphrag_dagster.engines.extractive.parsing.pipeline import load_pipeline
from graphrag_dagster.kernel.common.processes import chosen_processes, in_processes
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.tasks.ports import UnitExtraction

if TYPE_CHECKING:
    from spacy.language import Language

Item = TypeVar("Item")
_WORTH_PROCESSES = 200
_AT_ONCE = 16


def map_units(
    work: Callable[["Language", Sequence[Item]], list[UnitExtraction]],
    items: Sequence[Item],
    *,
    stage_name: str,
    pipeline: str,
    processes: int,
    lemmas: bool = False,
) -> Iterator[UnitExtraction]:
    """Yield what ``work(nlp, some)`` gives for some items at a time, in order.

    Args:
        work: a function at module level, so that other processes find it; gives one extraction per item.
        items: what ``work`` is called with.
        stage_name: what progress is reported as.
        pipeline: name of the spaCy pipeline.
        processes: number of processes; 0 chooses.
        lemmas: whether ``work`` needs lemmas.

    Raises:
        EngineError: see :func:`load_pipeline`; or a worker process died.
    """
    number = min(processes or chosen_processes(len(items), _WORTH_PROCESSES), max(1, len(items)))
    some = [items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE)]
    made: Iterator[list[UnitExtraction]]
    with stage(stage_name, len(items)) as running:
        if number == 1:
            made = (_work_off(work, pipeline, lemmas, one) for one in some)
        else:
            made = in_processes(
                number,
                _work_off,
                [(work, pipeline, lemmas, one) for one in some],
                whose="the extractive engine",
                setting="extraction.processes",
            )
        for found in chain.from_iterable(made):
            yield found
            running.advance()


def _work_off(
    work: Callable[["Language", Sequence[Item]], list[UnitExtraction]],
    pipeline: str,
    lemmas: bool,
    items: Sequence[Item],
) -> list[UnitExtraction]:
    return work(load_pipeline(pipeline, lemmas), items)
