"""One question, answered in a thread while its client listens, also as server-sent events."""

import asyncio
import json
import math
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.requests import Request
from starlette.responses import StreamingResponse

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.service.error_responses import ClientDisconnected, Refusal, error_body, refusal_of
from graphrag_dagster.service.open_indexes import OpenIndex
from graphrag_dagster.service.request_limits import QuestionSlots
from graphrag_dagster.service.request_models import AnswerBody
from graphrag_dagster.service.settings import ServiceSettings

_T = TypeVar("_T")


class QuestionRunner:
    """Where questions take their turn."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self.places = QuestionSlots(settings.max_asks)

    async def begin(self, index: OpenIndex, question: Question) -> "RunningQuestion":
        """Begin to answer a question, as soon as it is its turn.

        Raises:
            QuestionError: it is too long.
            Refusal: (429) its turn did not come in time.
        """
        if len(question.text) > self._settings.max_question:
            raise QuestionError(
                f"the question has {len(question.text):,} characters; use at most "
                f"{self._settings.max_question:,}"
            )
        await self._turn()
        return RunningQuestion(index, question, self.places, self._settings.answer_seconds)

    async def do(self, work: Callable[[], _T]) -> _T:
        """Do work in a thread of its own, as soon as it is its turn; it keeps its place until it ends.

        Raises:
            Refusal: (429) its turn did not come in time; (504) it takes too long.
        """
        await self._turn()
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[_T] = loop.create_future()

        def tell(value: _T | None, error: Exception | None) -> None:
            if ended.done():
                return
            if error is not None:
                ended.set_exception(error)
            else:
                ended.set_result(cast("_T", value))

        def run() -> None:
            value, failed = None, None
            try:
                value = work()
            # It is raised again where it is waited for, in another thread.
            except Exception as error:
                failed = error
            finally:
                self.places.free()
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(tell, value, failed)

        try:
            threading.Thread(target=run, name="work", daemon=True).start()
        except RuntimeError:
            self.places.free()
            raise
        seconds = self._settings.answer_seconds
        try:
            async with asyncio.timeout(seconds):
                return await ended
        except TimeoutError:
            raise Refusal(504, "too_slow", f"it took more than {seconds:g} seconds") from None

    async def _turn(self) -> None:
        if not await self.places.take(self._settings.queue_seconds):
            raise Refusal(
                429,
                "busy",
                f"{self._settings.max_asks} questions are already being answered; try again in a moment",
                {"Retry-After": str(max(1, math.ceil(self._settings.queue_seconds)))},
            )


class RunningQuestion:
    """A question under way, in a thread of its own that ends with the process.

    The thread keeps its place until it ends, also where nobody waits for the answer any more.

    Args:
        index: what is asked.
        question: the question.
        places: has one place taken for this question.
        seconds: longest time for the answer.
    """

    def __init__(self, index: OpenIndex, question: Question, places: QuestionSlots, seconds: float) -> None:
        self._index = index
        self._question = question
        self._places = places
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + seconds
        self._heard: asyncio.Queue[str | Answer | Exception] = asyncio.Queue()
        self._dropped = False
        self._half = ""
        try:
            threading.Thread(target=self._work, name="ask", daemon=True).start()
        except RuntimeError:
            places.free()
            raise

    async def hear(self, seconds: float = math.inf) -> str | Answer | None:
        """Return the next piece of the text, or the answer; None where nothing comes in ``seconds`` seconds.

        Raises:
            Refusal: (504) the answer takes too long.
            GraphragError: the question cannot be answered.
        """
        now = self._loop.time()
        try:
            async with asyncio.timeout_at(min(self._deadline, now + seconds)):
                heard = await self._heard.get()
        except TimeoutError:
            if self._loop.time() < self._deadline:
                return None
            self.drop()
            raise Refusal(504, "too_slow", f"the answer took more than {self._seconds:g} seconds") from None
        if isinstance(heard, Exception):
            raise heard
        return heard

    async def answer(self) -> Answer:
        """Wait for the answer; see :meth:`hear`."""
        try:
            while True:
                heard = await self.hear()
                if isinstance(heard, Answer):
                    return heard
        finally:
            self.drop()

    def drop(self) -> None:
        """Hear no more."""
        self._dropped = True

    def _work(self) -> None:
        outcome: Answer | Exception
        try:
            outcome = self._index.answer(self._question, self._listen)
        # It is raised again where the answer is waited for, in another thread.
        except Exception as error:
            outcome = error
        finally:
            self._places.free()
        self._tell(outcome)

    def _listen(self, piece: str) -> None:
        """Tell a piece of the text; surrogates that a model's server parted are told as one character."""
        text, self._half = self._half + piece, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if whole:
            self._tell(whole)

    def _tell(self, heard: str | Answer | Exception) -> None:
        if self._dropped:
            return
        try:
            self._loop.call_soon_threadsafe(self._heard.put_nowait, heard)
        except RuntimeError:  # the server has ended
            self._dropped = True


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """Do the work; give it up where the client goes away.

    Raises:
        ClientDisconnected: the client went away.
    """
    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(_wait_until_gone(request))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnected
        return working.result()
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _wait_until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


MEDIA_TYPE = "text/event-stream"
Heard = str | Answer | None
Render = Callable[[Heard | Refusal], list[bytes]]


def stream_responses(description: str, *names: str) -> dict[str, Any]:
    """Return the OpenAPI entry of an answer that may come as a stream of events of such names."""
    properties: dict[str, Any] = {
        "data": {"type": "string", "description": "JSON, except for the final `[DONE]`"}
    }
    if names:
        properties["event"] = {"type": "string", "enum": list(names)}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


def streaming(chunks: AsyncIterator[bytes]) -> StreamingResponse:
    """Return the response that sends events as they come."""
    return StreamingResponse(chunks, media_type=MEDIA_TYPE, headers={"Cache-Control": "no-cache"})


def event(data: Any, name: str | None = None) -> bytes:
    """Return one event with its data as one line of JSON."""
    return format_sse_event(data_str=json.dumps(data, ensure_ascii=False), event=name)


async def stream(
    asking: RunningQuestion, first: Heard, render: Render, ping_seconds: float
) -> AsyncIterator[bytes]:
    """Yield an answer as it comes; the thread that answers is left to itself where nobody listens any more.

    Args:
        asking: what is under way.
        first: what was heard of it already.
        render: gives the events of a piece of text, of the answer, or of the error that ended it.
        ping_seconds: how often to send a comment while nothing is heard.
    """
    try:
        heard = first
        while True:
            for chunk in render(heard) if heard is not None else [KEEPALIVE_COMMENT]:
                yield chunk
            if isinstance(heard, Answer):
                return
            try:
                heard = await asking.hear(ping_seconds)
            except Exception as error:
                for chunk in render(refusal_of(error)):
                    yield chunk
                return
    finally:
        asking.drop()


def plain(heard: Heard | Refusal) -> list[bytes]:
    """Return the events ``delta``, ``answer`` or ``error``."""
    match heard:
        case str():
            return [event({"text": heard}, "delta")]
        case Answer():
            return [event(AnswerBody.of(heard).json_values(), "answer")]
        case Refusal():
            return [event(error_body("", heard), "error")]
    return []
