"""Calls to an OpenAI-compatible endpoint that arrive, or an error that says what to mend.

Keys are read from the environment at the moment of a call and stand in no message, log or representation.
"""

import asyncio
import json
import os
import random
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from graphrag_dagster.core.errors import EndpointError
from graphrag_dagster.core.language.llm.chat import CallFailed, Refused
from graphrag_dagster.resources.endpoint.limits import LONGEST_WAIT, Limits, duration, retry_after
from graphrag_dagster.settings.model import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

BASE_URL = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
_LONGEST_BACKOFF = 30.0
_HOPELESS = 8
_STEPS = 8
_PATIENCE = 900.0
_SHOWN = 400
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_jitter = random.SystemRandom()


@dataclass
class _LoopState:
    """What belongs to one event loop: connections, and limits by URL and model."""

    clients: dict[tuple[str, str, float], "AsyncOpenAI"] = field(default_factory=dict)
    limits: dict[tuple[str, str], Limits] = field(default_factory=dict)


#: Shared by all connections of the process, so that what a stage learned of an endpoint the next one knows.
_states: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopState] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Arrived:
    """An answer with the seconds that the endpoint took for it, and the retries that it needed."""

    answer: dict[str, Any]
    seconds: float
    retries: int


@dataclass(frozen=True)
class _Trouble:
    """An error of a call: what to raise if it stays, and whether and when to try again.

    ``too_many``: the endpoint is busy; that is no failure of the call, however often it happens.
    """

    error: EndpointError
    again: bool = False
    wait: float | None = None
    too_many: bool = False


Sent = tuple[str, Mapping[str, str]]
Send = Callable[["AsyncOpenAI"], Awaitable[Sent]]


class Connection:
    """An endpoint with its limits.

    Args:
        settings: where the endpoint is and what it may be asked; its base URL None stands for
            ``$OPENAI_BASE_URL``, else OpenAI's, and an endpoint of one's own needs no key.
        model: whose limits hold.
        first_wait: seconds before the first retry; doubled each time, with jitter.
    """

    def __init__(self, settings: ModelSettings, model: str, first_wait: float = 0.5) -> None:
        self._base_url = settings.base_url
        self._variable = settings.api_key_variable
        self._model = model
        self._rates = (settings.requests_per_minute, settings.tokens_per_minute)
        self.concurrency = settings.concurrency
        self._timeout = settings.timeout_seconds
        self._retries = settings.retries
        self._first_wait = first_wait
        self._answered_at: float | None = None
        self._failures = 0

    @property
    def url(self) -> str:
        """The base URL in force."""
        return (self._base_url or os.environ.get(BASE_URL) or _OPENAI).rstrip("/")

    @property
    def shown_url(self) -> str:
        """The base URL without credentials."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    async def call(self, send: Send, what: str, tokens: int = 0) -> Arrived:
        """Return the JSON object that the endpoint answers.

        Args:
            send: makes the request with a client; returns the body of the response and its headers.
            what: what is asked for, such as ``model gpt-4.1-mini``; named in errors.
            tokens: estimate of the tokens of request and reply, for the rates.

        Raises:
            Refused: the endpoint will not do this request.
            CallFailed: this call got no answer within its retries.
            EndpointError: the endpoint cannot be used at all, or is busy for too long.
        """
        limits = self.limits()
        begun, failures, busy = time.monotonic(), 0, 0
        while True:
            ticket = await limits.enter(tokens, first=failures + busy > 0)
            used: int | None = 0
            try:
                found = await self._try(limits, send, what)
                if not isinstance(found, _Trouble):
                    used = _tokens(found)
                    seconds = time.monotonic() - ticket.begun
                    limits.answered()
                    self._answered_at, self._failures = time.monotonic(), 0
                    return Arrived(found, seconds, failures + busy)
                if found.too_many:
                    limits.too_many(ticket, found.wait)
            finally:
                limits.leave(ticket, used)
            if found.too_many and found.again:
                self._still_patient(begun, found)
                busy += 1
            elif not found.again or failures >= self._retries:
                raise self._final(found)
            else:
                failures += 1
            await self._pause(limits, found, min(failures or busy, _STEPS) - 1)

    def limits(self) -> Limits:
        """The limits of the model on the running loop, as the settings have them."""
        known = self._state().limits
        where = (self.url, self._model)
        if where not in known:
            known[where] = Limits(self.concurrency, *self._rates)
        known[where].configure(self.concurrency, *self._rates)
        return known[where]

    async def _try(self, limits: Limits, send: Send, what: str) -> "dict[str, Any] | _Trouble":
        client = self.client()
        try:
            async with asyncio.timeout(self._timeout):
                text, headers = await send(client)
        except Exception as error:
            # Made here and raised elsewhere, so that no traceback leads back to the request and its headers.
            return self._trouble(error, what)
        limits.learn(headers)
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

    async def _pause(self, limits: Limits, trouble: _Trouble, attempt: int) -> None:
        if trouble.wait is not None:
            # What the endpoint asks of one call holds for all.
            limits.pause(trouble.wait)
            return
        backoff = min(self._first_wait * 2**attempt, _LONGEST_BACKOFF)
        await asyncio.sleep(backoff * _jitter.uniform(0.5, 1.5))

    def _still_patient(self, begun: float, trouble: _Trouble) -> None:
        """Busy is no failure, but an endpoint that answers nobody for long is of no use now."""
        since = max(begun, self._answered_at or 0.0)
        if time.monotonic() - since > _PATIENCE:
            raise EndpointError(
                f"{trouble.error}; it has answered nothing for {_PATIENCE / 60:.0f} minutes. "
                "Nothing that was done is lost: run again when it is less busy"
            )

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
        if isinstance(error, openai.APIError):
            text = f"{self.shown_url} broke off its reply: {self._clean(str(error))}"
            return _Trouble(CallFailed(text), again=True)
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            text = f"{self.shown_url} sent no usable JSON: {self._clean(str(error))}"
            return _Trouble(CallFailed(text), again=True)
        return _Trouble(EndpointError(f"{self.shown_url}: {type(error).__name__}: {self._clean(str(error))}"))

    def _no_connection(self, error: Exception) -> _Trouble:
        cause = error.__cause__ or error
        detail = self._clean(str(cause)) or type(cause).__name__
        if _never_connected(error):
            mend = "SSL_CERT_FILE" if "CERTIFICATE_VERIFY" in detail else f"model.base_url or {BASE_URL}"
            text = f"cannot reach {self.shown_url}: {detail}; set {mend}"
            return _Trouble(EndpointError(text), again=self._answered_at is not None)
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
        if status == 429:
            return self._too_many(said, error.response.headers)
        if status in _PASSING or status >= 500:
            wait = retry_after(error.response.headers)
            failed = CallFailed(f"{self.shown_url} answered {status}: {said}")
            return _Trouble(failed, wait is None or wait <= LONGEST_WAIT, wait)
        return _Trouble(Refused(f"{self.shown_url} refused the request ({status}): {said}"))

    def _too_many(self, said: str, headers: Mapping[str, str]) -> _Trouble:
        wait = retry_after(headers)
        if wait is None:
            left = headers.get("x-ratelimit-remaining-requests")
            exhausted = "requests" if left is not None and left.strip() in {"0", "0.0"} else "tokens"
            wait = duration(headers.get(f"x-ratelimit-reset-{exhausted}"))
        if wait is not None and wait > LONGEST_WAIT:
            text = (
                f"{self.shown_url} has no more to give for {wait / 60:.0f} minutes (429): {said}. "
                "Nothing that was done is lost: run again then"
            )
            return _Trouble(EndpointError(text), too_many=True, wait=wait)
        failed = CallFailed(f"{self.shown_url} answered 429: {said}")
        return _Trouble(failed, again=True, wait=wait, too_many=True)

    def _state(self) -> _LoopState:
        return _states.setdefault(asyncio.get_running_loop(), _LoopState())

    def client(self) -> "AsyncOpenAI":
        """The client of the running loop; proxies and certificates are those of the environment.

        Raises:
            EndpointError: there is no usable key, or the environment names no usable proxy or certificates.
        """
        from openai import AsyncOpenAI

        self._key()
        clients, where = self._state().clients, (self.url, self._variable, self._timeout)
        if where not in clients:

            async def key() -> str:
                return self._key()

            try:
                made = AsyncOpenAI(base_url=self.url, api_key=key, timeout=self._timeout, max_retries=0)
            except Exception as error:
                raise EndpointError(
                    f"{self.shown_url} cannot be called: {self._clean(str(error))}; look at SSL_CERT_FILE, "
                    "HTTP_PROXY and HTTPS_PROXY in the environment"
                ) from None
            clients[where] = made
        return clients[where]

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


def _tokens(answer: Mapping[str, Any]) -> int | None:
    usage = answer.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    if total is None and isinstance(usage, dict):
        total = (usage.get("prompt_tokens") or 0) + (usage.get("completion_tokens") or 0)
    return int(total) if total else None


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
