"""Many questions, several at the same time."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from graphrag_dagster.kernel.common.progress import quietly, stage
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.question import Engines, Question
from graphrag_dagster.kernel.questions.searcher import Searcher


def answer_all(
    searcher: Searcher,
    engines: Engines,
    questions: Sequence[Question],
    at_once: int,
) -> Iterator[Answer]:
    """Yield the answers in the order of the questions.

    Most ways of answering make one call after the other: asked one by one, they would leave an endpoint idle.

    Args:
        searcher: answers; several threads may ask it.
        engines: who does the language tasks.
        questions: what is asked.
        at_once: questions under way at the same time.

    Raises:
        GraphragError: of the first question that cannot be answered; those not yet begun are not asked.
    """

    def answer(question: Question) -> Answer:
        with quietly():
            return searcher.answer(question, engines)

    with stage("Answering questions", len(questions)) as running, ThreadPoolExecutor(at_once) as pool:
        pending = [pool.submit(answer, one) for one in questions]
        try:
            for future in pending:
                yield future.result()
                running.advance()
        finally:
            for future in pending:
                future.cancel()
