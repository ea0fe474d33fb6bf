"""Limits on concurrent questions and on the size and form of a request body."""

import asyncio
import json
import threading
from collections import deque

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_dagster.service.error_responses import Refusal, error_response


class QuestionSlots:
    """A number of places, taken in an event loop and freed in any thread; who waits longest is next."""

    def __init__(self, number: int) -> None:
        self._lock = threading.Lock()
        self._free = number
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self, seconds: float) -> bool:
        """Take a place; False where none was freed within so many seconds."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except TimeoutError:
            return not self._left(turn)
        except asyncio.CancelledError:
            if not self._left(turn):
                self.free()
            raise
        return True

    def free(self) -> None:
        """Give a place back, to who waits longest."""
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                try:
                    turn.get_loop().call_soon_threadsafe(_call, turn)
                except RuntimeError:  # the loop of that one has ended
                    continue
                return
            self._free += 1

    def _left(self, turn: asyncio.Future[None]) -> bool:
        """Leave the queue; False where a place has been given already."""
        with self._lock:
            try:
                self._waiting.remove(turn)
            except ValueError:
                return False
            return True


def _call(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


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
