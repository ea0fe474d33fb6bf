"""Questions of many calls to the LLM cache, asked together; no event loop waits for a remote database."""

from __future__ import annotations

import asyncio
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
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, question: T) -> R:
        """Return the answer.

        Raises:
            CacheFileError: the database cannot be used.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._waiting.append((question, future))
        # A loop that ended may have left a round unfinished.
        if self._loop is not loop:
            self._loop = loop
            loop.call_soon(self._begin, loop)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and not future.exception():
                self._undo(question, future.result())
            raise

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        asked, self._waiting = [one for one in self._waiting if not one[1].done()], []
        questions = [question for question, _ in asked]
        if self._remote:
            try:
                done = loop.run_in_executor(None, self._work, questions)
            except RuntimeError:
                # The process ends, and has no more threads; nobody waits for an answer.
                return
            done.add_done_callback(lambda task: self._end(loop, asked, task.result))
        else:
            self._end(loop, asked, lambda: self._work(questions))

    def _end(
        self,
        loop: asyncio.AbstractEventLoop,
        asked: list[tuple[T, asyncio.Future[R]]],
        result: Callable[[], Sequence[R]],
    ) -> None:
        try:
            answers = result()
        except BaseException as error:
            for _, future in asked:
                if not future.done():
                    future.set_exception(error)
        else:
            self._on_answer([question for question, _ in asked], answers)
            for (question, future), answer in zip(asked, answers, strict=True):
                if future.done():
                    self._undo(question, answer)
                else:
                    future.set_result(answer)
        if self._waiting:
            loop.call_soon(self._begin, loop)
        else:
            self._loop = None
