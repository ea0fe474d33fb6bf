"""Limits on concurrent questions and on the size and form of a request body."""

import asyncio
import json
from collections import deque
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_dagster.service.error_responses import Refusal, error_response


class QuestionSlots:
    """A number of places of one event loop, freed in any thread; who waits longest is next."""

    def __init__(self, number: int) -> None:
        self._free = asyncio.Semaphore(number)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def take(self, seconds: float) -> bool:
        """Take a place; False where none was freed within so many seconds."""
        self._loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                return await self._free.acquire()
        except TimeoutError:
            return False

    def free(self) -> None:
        """Give a place back, to who waits longest."""
        with suppress(RuntimeError):  # the server has ended
            if self._loop:
                self._loop.call_soon_threadsafe(self._free.release)


class BodyLimit:
    """Refuses bodies that are too large, too slow or not the JSON of RFC 8259 before anything reads them.

    Args:
        app: what is guarded.
        max_bytes: largest body.
        seconds: longest time until all of it is there.
    """

    def __init__(self, app: ASGIApp, max_bytes: int, seconds: float) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._seconds):
                messages = await self._read(scope, receive)
            if problem := _wrong_with(b"".join(message.get("body", b"") for message in messages)):
                raise Refusal(400, "malformed_request", f"the body {problem}")
        except TimeoutError:
            refusal = Refusal(
                408, "too_slow", f"the body did not arrive in time; send it within {self._seconds:g} seconds"
            )
            await error_response(scope["path"], refusal)(scope, receive, send)
            return
        except Refusal as refusal:
            await error_response(scope["path"], refusal)(scope, receive, send)
            return

        async def replay() -> Message:
            return messages.popleft() if messages else await receive()

        await self._app(scope, replay, send)

    async def _read(self, scope: Scope, receive: Receive) -> deque[Message]:
        refusal = Refusal(413, "body_too_large", f"the body is too large; at most {self._max_bytes:,} bytes")
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._max_bytes:
            raise refusal
        messages: deque[Message] = deque()
        size, more = 0, True
        while more:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            more = message["type"] == "http.request" and message.get("more_body", False)
            if size > self._max_bytes:
                raise refusal
        return messages


def _wrong_with(body: bytes) -> str | None:
    """Say what in a JSON body no route can use; None also where it is no JSON, which the route then says.

    Python's parser lets through what neither JSON nor UTF-8 has, and what fails only where it is stored,
    compared or sent back.
    """
    if not body:
        return None
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "is not valid UTF-8"
    try:
        parsed = json.loads(text)
    except RecursionError:
        return "is nested too deeply"
    except ValueError:
        return None
    try:
        json.dumps(parsed, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "contains half of a surrogate pair, which is not a character"
    except RecursionError:
        return "is nested too deeply"
    except ValueError:
        return "contains NaN or a number beyond the range of a double"
    return None
