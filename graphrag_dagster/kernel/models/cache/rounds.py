"""Questions of many calls to the LLM cache, asked together; no event loop waits for a remote database."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphrag_dagster.kernel.models.cache.cache_database import Database

T = TypeVar("T")
R = TypeVar("R")


class Rounds(Generic[T, R]):
    """What calls ask at the same time is asked in one go; what comes meanwhile waits for the next.

    Args:
        database: where it is asked: a remote one in a thread.
        work: gives the answers to many questions, in their order.
        on_answer: is told of them on the loop, before anybody else.
        undo: is told of a question and its answer that nobody waits for any more.
    """

    def __init__(
        self,
        database: Database,
        work: Callable[[Sequence[T]], Sequence[R]],
        on_answer: Callable[[Sequence[T], Sequence[R]], None] = lambda _, __: None,
        undo: Callable[[T, R], None] = lambda _, __: None,
    ) -> None:
        self._remote = database.backend.remote
        self._work = work
        self._on_answer = on_answer
        self._undo = undo
        self._waiting: list[tuple[Sequence[T], asyncio.Future[Sequence[R]]]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, question: T) -> R:
        """Return the answer.

        Raises:
            CacheFileError: the database cannot be used.
        """
        return (await self.ask_all((question,)))[0]

    async def ask_all(self, questions: Sequence[T]) -> Sequence[R]:
        """Return the answers to questions that are asked in the same round.

        Raises:
            CacheFileError: the database cannot be used.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Sequence[R]] = loop.create_future()
        self._waiting.append((questions, future))
        # A loop that ended may have left a round unfinished.
        if self._loop is not loop:
            self._loop = loop
            loop.call_soon(self._begin, loop)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and not future.exception():
                self._undo_all(questions, future.result())
            raise

    def _undo_all(self, questions: Sequence[T], answers: Sequence[R]) -> None:
        for question, answer in zip(questions, answers, strict=True):
            self._undo(question, answer)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        asked, self._waiting = [one for one in self._waiting if not one[1].done()], []
        questions = [question for some, _ in asked for question in some]
        if self._remote:
            try:
                done = loop.run_in_executor(None, self._work, questions)
            except RuntimeError:
                # The process ends, and has no more threads; nobody waits for an answer.
                return
            done.add_done_callback(lambda task: self._end(loop, asked, questions, task.result))
        else:
            self._end(loop, asked, questions, lambda: self._work(questions))

    def _end(
        self,
        loop: asyncio.AbstractEventLoop,
        asked: Sequence[tuple[Sequence[T], asyncio.Future[Sequence[R]]]],
        questions: Sequence[T],
        result: Callable[[], Sequence[R]],
    ) -> None:
        try:
            answers = result()
        except BaseException as error:
            for _, future in asked:
                if not future.done():
                    future.set_exception(error)
        else:
            self._on_answer(questions, answers)
            left = iter(answers)
            for some, future in asked:
                own = list(islice(left, len(some)))
                if future.done():
                    self._undo_all(some, own)
                else:
                    future.set_result(own)
        if self._waiting:
            loop.call_soon(self._begin, loop)
        else:
            self._loop = None
