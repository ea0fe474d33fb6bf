"""Calls to an OpenAI-compatible endpoint that arrive, or an error that says what to mend.

Keys are read from the environment at the moment of a call and stand in no message, log or representation.
"""

import asyncio
import json
import os
import random
import time
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from graphrag_dagster.core.errors import EndpointError
from graphrag_dagster.core.language.llm.chat import CallFailed
from graphrag_dagster.settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

BASE_URL = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
_LONGEST_BACKOFF = 30.0
_LONGEST_ASKED_WAIT = 600.0
_HOPELESS = 8
_SHOWN = 400
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_jitter = random.SystemRandom()


class Refused(CallFailed):
    """The endpoint understood the request and will not do it (400, 413, 422)."""


@dataclass
class _LoopState:
    """What belongs to one event loop: connections, calls in flight, a pause that the endpoint asked for."""

    calls: asyncio.Semaphore
    clients: dict[str, "AsyncOpenAI"] = field(default_factory=dict)
    not_before: float = 0.0


@dataclass(frozen=True)
class _Trouble:
    """An error of a call: what to raise if it stays, and whether and when to try again."""

    error: EndpointError
    again: bool = False
    wait: float | None = None


Send = Callable[["AsyncOpenAI"], Awaitable[str]]


class Connection:
    """An endpoint with its limits.

    Args:
        settings: where the endpoint is and what it may be asked; its base URL None stands for
            ``$OPENAI_BASE_URL``, else OpenAI's, and an endpoint of one's own needs no key.
        first_wait: seconds before the first retry; doubled each time, with jitter.
    """

    def __init__(
        self,
        settings: ModelSettings,
        first_wait: float = 0.5,
    ) -> None:
        self._base_url = settings.base_url
        self._variable = settings.api_key_variable
        self.concurrency = settings.concurrency
        self._timeout = settings.timeout_seconds
        self._retries = settings.retries
        self._first_wait = first_wait
        self._answered = False
        self._failures = 0
        self._states: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopState] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def url(self) -> str:
        """The base URL in force."""
        return (self._base_url or os.environ.get(BASE_URL) or _OPENAI).rstrip("/")

    @property
    def shown_url(self) -> str:
        """The base URL without credentials."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    async def call(self, send: Send, what: str) -> dict[str, Any]:
        """Return the JSON object that the endpoint answers.

        Args:
            send: makes the request with a client and returns the body of the response.
            what: what is asked for, such as ``model gpt-4.1-mini``; named in errors.

        Raises:
            Refused: the endpoint will not do this request.
            CallFailed: this call got no answer within its retries.
            EndpointError: the endpoint cannot be used at all.
        """
        state = self._state()
        async with state.calls:
            attempt = 0
            while True:
                await asyncio.sleep(max(state.not_before - time.monotonic(), 0.0))
                found = await self._try(state, send, what)
                if not isinstance(found, _Trouble):
                    self._answered, self._failures = True, 0
                    return found
                if not found.again or attempt >= self._retries:
                    raise self._final(found)
                await self._pause(state, found, attempt)
                attempt += 1

    async def _try(self, state: _LoopState, send: Send, what: str) -> "dict[str, Any] | _Trouble":
        client = self._client(state)
        try:
            async with asyncio.timeout(self._timeout):
                text = await send(client)
        except Exception as error:
            # Made here and raised elsewhere, so that no traceback leads back to the request and its headers.
            return self._trouble(error, what)
        return self._parsed(text)

    def _parsed(self, text: str) -> "dict[str, Any] | _Trouble":
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and not answer.get("error"):
            return answer
        shown = self._clean(text) or "an empty body"
        return _Trouble(CallFailed(f"{self.shown_url} sent no usable JSON: {shown}"), again=True)

    async def _pause(self, state: _LoopState, trouble: _Trouble, attempt: int) -> None:
        if trouble.wait is not None:
            # What the endpoint asks of one call holds for all.
            state.not_before = max(state.not_before, time.monotonic() + trouble.wait)
            return
        backoff = min(self._first_wait * 2**attempt, _LONGEST_BACKOFF)
        await asyncio.sleep(backoff * _jitter.uniform(0.5, 1.5))

    def _final(self, trouble: _Trouble) -> EndpointError:
        if isinstance(trouble.error, CallFailed) and not isinstance(trouble.error, Refused):
            self._failures += 1
            if self._failures >= _HOPELESS:
                return EndpointError(
                    f"{self._failures} calls in a row failed; the last: {trouble.error}. "
                    "Nothing that was done is lost: run again when the endpoint works"
                )
        return trouble.error

    def _trouble(self, error: Exception, what: str) -> _Trouble:
        import openai

        if isinstance(error, openai.APITimeoutError | TimeoutError) and not _never_connected(error):
            text = f"no reply from {self.shown_url} within {self._timeout:g} s; set model.timeout_seconds"
            return _Trouble(CallFailed(text), again=True)
        if isinstance(error, openai.APIConnectionError | TimeoutError):
            return self._no_connection(error)
        if isinstance(error, openai.APIStatusError):
            return self._status(error, what)
        return _Trouble(EndpointError(f"{self.shown_url}: {type(error).__name__}: {self._clean(str(error))}"))

    def _no_connection(self, error: Exception) -> _Trouble:
        cause = error.__cause__ or error
        detail = self._clean(str(cause)) or type(cause).__name__
        if _never_connected(error):
            text = f"cannot reach {self.shown_url}: {detail}; set model.base_url or {BASE_URL}"
            return _Trouble(EndpointError(text), again=self._answered)
        return _Trouble(CallFailed(f"the connection to {self.shown_url} broke: {detail}"), again=True)

    def _status(self, error: Any, what: str) -> _Trouble:
        status: int = error.status_code
        said = self._clean(_message(error)) or "no reason given"
        if status in {401, 403}:
            text = f"{self.shown_url} refuses the key in ${self._variable} ({status}): {said}"
            return _Trouble(EndpointError(text))
        if status == 404:
            text = f"{self.shown_url} has no {what}, or the URL is wrong (404): {said}"
            return _Trouble(EndpointError(f"{text}; set model.name or model.base_url"))
        if status == 429 and getattr(error, "code", None) == "insufficient_quota":
            return _Trouble(EndpointError(f"{self.shown_url}: the account has no credit left (429): {said}"))
        if status in _PASSING or status >= 500:
            wait = retry_after(error.response.headers)
            failed = CallFailed(f"{self.shown_url} answered {status}: {said}")
            return _Trouble(failed, wait is None or wait <= _LONGEST_ASKED_WAIT, wait)
        return _Trouble(Refused(f"{self.shown_url} refused the request ({status}): {said}"))

    def _state(self) -> _LoopState:
        loop = asyncio.get_running_loop()
        if loop not in self._states:
            self._states[loop] = _LoopState(asyncio.Semaphore(self.concurrency))
        return self._states[loop]

    def _client(self, state: _LoopState) -> "AsyncOpenAI":
        from openai import AsyncOpenAI

        url = self.url
        self._key()
        if url not in state.clients:

            async def key() -> str:
                return self._key()

            state.clients[url] = AsyncOpenAI(base_url=url, api_key=key, timeout=self._timeout, max_retries=0)
        return state.clients[url]

    def _key(self) -> str:
        key = os.environ.get(self._variable, "").strip()
        if not key and urlsplit(self.url).hostname == urlsplit(_OPENAI).hostname:
            raise EndpointError(
                f"{self.shown_url} needs a key: set ${self._variable}, or set model.base_url or {BASE_URL} "
                "to an endpoint of your own"
            )
        if not key.isascii() or not key.isprintable():
            raise EndpointError(f"${self._variable} holds characters that no key has; set it again")
        return key or "none"

    def _clean(self, text: str) -> str:
        key = os.environ.get(self._variable, "").strip()
        hidden = text.replace(key, "***") if key else text
        folded = " ".join(hidden.split())
        return folded if len(folded) <= _SHOWN else folded[:_SHOWN] + " …"


def retry_after(headers: Any) -> float | None:
    """Return the seconds that a response asks to wait, by ``Retry-After-Ms`` or ``Retry-After``."""
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return max(float(milliseconds) / 1000, 0.0)
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.strip().replace(".", "", 1).isdigit():
            return float(value)
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return None


def _never_connected(error: Exception) -> bool:
    # By name: the client's transport is one of two packages, depending on its version.
    kinds = {type(one).__name__ for one in (error.__cause__, error.__context__) if one}
    return bool(
        kinds & {"ConnectError", "ConnectTimeout", "UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}
    )


def _message(error: Any) -> str:
    body = error.body
    if isinstance(body, dict):
        inner = body.get("message") or body.get("error") or body.get("detail") or body
        return str(inner.get("message", inner) if isinstance(inner, dict) else inner)
    return str(body or error.message)
