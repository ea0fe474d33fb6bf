"""Many questions, several at the same time."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from graphrag_dagster.core.progress import quietly, stage
from graphrag_dagster.core.search.asked import Engines
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.filters import ALL, Filters
from graphrag_dagster.core.search.searcher import Searcher


def answer_all(
    searcher: Searcher,
    engines: Engines,
    asked: Sequence[tuple[int, str, str]],
    at_once: int,
    filters: Filters = ALL,
) -> Iterator[Answer]:
    """Yield the answers in the order of the questions.

    Most ways of answering make one call after the other: asked one by one, they would leave an endpoint idle.

    Args:
        searcher: answers; several threads may ask it.
        engines: who does the language tasks.
        asked: position, question and method.
        at_once: questions under way at the same time.
        filters: which documents to answer from.

    Raises:
        GraphragError: of the first question that cannot be answered; those not yet begun are not asked.
    """

    def answer(question: str, method: str) -> Answer:
        with quietly():
            return searcher.answer(question, engines, method=method, filters=filters)

    with stage("Answering questions", len(asked)) as running, ThreadPoolExecutor(at_once) as pool:
        pending = [pool.submit(answer, question, method) for _, question, method in asked]
        try:
            for future in pending:
                yield future.result()
                running.advance()
        finally:
            for future in pending:
                future.cancel()
