"""Calls to an OpenAI-compatible endpoint, with retries and errors that name the fix.

Keys are read from the environment at the moment of a call and stand in no message, log or representation.
"""

import asyncio
import math
import random
import time
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphrag_dagster.errors import EndpointDown, EndpointError, OutOfCredit
from graphrag_dagster.kernel.common.progress import pending_call, say
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, Refused
from graphrag_dagster.kernel.models.chat.concurrent_calls import allow_sending, check_may_send
from graphrag_dagster.kernel.models.endpoint.endpoint_address import Address, ClientOptions
from graphrag_dagster.kernel.models.endpoint.error_mapping import CallError, ErrorMapping
from graphrag_dagster.kernel.models.endpoint.rate_limits import Limits
from graphrag_dagster.kernel.models.endpoint.response_parsing import usage_of
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_FIRST_WAIT, _LONGEST_BACKOFF = 0.5, 30.0
_MAX_CONSECUTIVE_FAILURES = 8
#: Doublings of a wait.
_MOST_DOUBLINGS = 8
#: Seconds after which an answer that still comes piece by piece is given up.
_LONGEST_ANSWER = 7200.0
_jitter = random.SystemRandom()


@dataclass
class _LoopState:
    """State of one event loop: connections, and limits by URL, model and what the settings allow."""

    clients: dict[tuple[ClientOptions, str, float], "AsyncOpenAI"] = field(default_factory=dict)
    limits: dict[tuple[object, ...], Limits] = field(default_factory=dict)


#: Shared by all connections of the process, so that a stage goes on with the window of the one before it.
_states: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopState] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Arrived:
    """An answer with the seconds that the endpoint took for it."""

    answer: dict[str, Any]
    seconds: float


@dataclass(slots=True)
class Tries:
    """Usage of a request for a task so far, so that it is known however the request ends.

    ``sent`` counts how often it was sent, ``timeouts`` how often no answer came in time, ``seconds`` all that
    were spent waiting for the endpoint. ``read`` and ``written``: of a call that nobody waited for to the
    end, the tokens that the endpoint had read and written by then, by estimate.
    """

    task: str = ""
    sent: int = 0
    timeouts: int = 0
    seconds: float = 0.0
    read: int = 0
    written: int = 0

    @property
    def retries(self) -> int:
        """Number of times it was sent again."""
        return max(self.sent - 1, 0)


#: Makes a request with a client; gives the body of the answer.
Send = Callable[["AsyncOpenAI"], Awaitable[bytes]]


class Connection:
    """An endpoint with its limits.

    Args:
        settings: where the endpoint is and what it may be asked; its base URL None stands for
            ``$OPENAI_BASE_URL``, else OpenAI's, and an endpoint of one's own needs no key.
        model: whose limits hold.
        first_wait: seconds before the first retry; doubled each time, with jitter.
    """

    def __init__(self, settings: ModelSettings, model: str, first_wait: float = _FIRST_WAIT) -> None:
        self._address = Address(settings)
        self.model = model
        self.rates = (settings.requests_per_minute, settings.tokens_per_minute)
        self.concurrency = settings.concurrency
        self._timeout = settings.timeout_seconds
        self._error_mapping = ErrorMapping(self._address, settings.timeout_seconds)
        self._retries = settings.retries
        self._first_wait = first_wait
        self._answered_at: float | None = None
        self._failures = 0
        #: Seconds for which an endpoint is waited for that is busy, or loads its model.
        self.patience = 1800.0
        self._waits_told = -math.inf
        #: When the credit ran out, and what was said: what waited by then is not sent.
        self._out_of_credit = (-math.inf, "")

    @property
    def url(self) -> str:
        """The base URL in force."""
        return self._address.url

    @property
    def shown_url(self) -> str:
        """The base URL without credentials and values of its query."""
        return self._address.shown_url

    async def call(
        self,
        send: Send,
        what: str,
        tokens: int = 0,
        *,
        tries: Tries | None = None,
        first: bool = False,
    ) -> Arrived:
        """Return the JSON object that the endpoint answers.

        Args:
            send: makes the request with a client; returns the body of the response.
            what: what is asked for, such as ``model gpt-4.1-mini``; named in errors.
            tokens: estimate of the tokens of request and reply, for the rates.
            tries: kept up while the call goes on.
            first: it goes before all that wait, as every repetition does.

        Raises:
            Refused: the endpoint will not do this request.
            CallFailed: this call got no answer within its retries.
            EndpointError: the endpoint cannot be used at all, or is busy for too long.
        """
        tries = tries or Tries()
        limits, begun, failures, waits = self.limits(), time.monotonic(), 0, 0
        with pending_call(what, tries.task) as call:
            while True:
                ticket = await limits.enter(tokens, first=first or failures + waits > 0)
                used: int | None = 0
                try:
                    if begun <= self._out_of_credit[0]:
                        raise OutOfCredit(self._out_of_credit[1])
                    with allow_sending():
                        call.sent = True
                        found = await self._try_once(send, what, tries)
                    if not isinstance(found, CallError):
                        used = usage_of(found).total or None
                        limits.on_answer()
                        self._answered_at, self._failures = time.monotonic(), 0
                        return Arrived(found, self._answered_at - ticket.begun)
                    if isinstance(found.error, OutOfCredit):
                        self._out_of_credit = time.monotonic(), str(found.error)
                    if found.busy or found.silent:
                        limits.on_overload(ticket)
                finally:
                    call.sent = False
                    limits.leave(ticket, used)
                if found.busy:
                    self._check_patience(begun, found)
                    waits += 1
                # Silence costs the whole time limit: it is met with one more try.
                elif found.again and failures < (min(self._retries, 1) if found.silent else self._retries):
                    failures += 1
                else:
                    raise self._final_error(found)
                check_may_send()
                await self._pause(limits, found, failures + waits)

    def limits(self) -> Limits:
        """The limits of the model on the running loop, as the settings have them."""
        known, where = self._state().limits, (self.url, self.model, self.concurrency, *self.rates)
        if where not in known:
            known[where] = Limits(self.concurrency, *self.rates)
        return known[where]

    async def _try_once(self, send: Send, what: str, tries: Tries) -> dict[str, Any] | CallError:
        client, begun = self.client(), time.monotonic()
        tries.sent += 1
        try:
            async with asyncio.timeout(_LONGEST_ANSWER):
                content = await send(client)
        except Exception as error:
            # Made here and raised elsewhere, so that no traceback leads back to the request and its headers.
            found = self._error_mapping.of_error(error, what, answered_before=self._answered_at is not None)
            tries.timeouts += found.silent
            return found
        finally:
            tries.seconds += time.monotonic() - begun
        return self._error_mapping.parse(self._address.without_key(content), what)

    async def _pause(self, limits: Limits, failure: CallError, attempt: int) -> None:
        if failure.wait is not None:
            # What the endpoint asks of one call holds for all.
            limits.pause(failure.wait)
            return
        backoff = min(self._first_wait * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS), _LONGEST_BACKOFF)
        await asyncio.sleep(backoff * _jitter.uniform(0.5, 1.5))

    def _check_patience(self, begun: float, failure: CallError) -> None:
        """Say that the endpoint is waited for; one that answers nobody for long is unusable now."""
        waited = time.monotonic() - max(begun, self._answered_at or 0.0)
        if waited >= self.patience:
            told = f"; no answers for {waited / 60:.0f} minutes" if self.patience else ""
            raise EndpointDown(
                f"{failure.error}{told}. Finished work is kept: run again when it is less busy"
            )
        if time.monotonic() - self._waits_told > self.patience:
            self._waits_told = time.monotonic()
            say(f"{failure.error}; waiting, {self.patience / 60:.0f} minutes at most")

    def _final_error(self, failure: CallError) -> EndpointError:
        if isinstance(failure.error, CallFailed) and not isinstance(failure.error, Refused):
            self._failures += 1
            if self._failures >= _MAX_CONSECUTIVE_FAILURES:
                return EndpointDown(
                    f"{self._failures} calls in a row failed; the last: {failure.error}. Finished work is "
                    "kept: run again when the endpoint works"
                )
        return failure.error

    def _state(self) -> _LoopState:
        loop = asyncio.get_running_loop()
        if loop not in _states:
            _states[loop] = _LoopState()
        return _states[loop]

    def client(self) -> "AsyncOpenAI":
        """The client of the running loop.

        Raises:
            EndpointError: there is no usable key, or the environment names no usable proxy or certificates.
        """
        from graphrag_dagster.kernel.models.endpoint.openai_client import make_client

        options = self._address.client_options()
        if not options.authorised:
            self._address.key()
        known, where = self._state().clients, (options, self._address.variable, self._timeout)
        if where not in known:
            try:
                known[where] = make_client(options, self._address, self._timeout)
            # Of proxies and certificates that cannot be used the transport raises errors of many kinds.
            except Exception as error:
                told = self._address.redact(str(error))
                raise EndpointError(
                    f"{self.shown_url} cannot be called: {told}; check SSL_CERT_FILE, HTTP_PROXY and "
                    "HTTPS_PROXY in the environment"
                ) from None
        return known[where]
