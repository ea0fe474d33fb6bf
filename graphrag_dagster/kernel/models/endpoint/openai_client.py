"""Clients of the package ``openai`` with own connections and limits, for whole and streamed replies."""

import json
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import httpx2
from openai import APIConnectionError, AsyncAzureOpenAI, AsyncOpenAI, Omit
from openai.lib.azure import API_KEY_SENTINEL

from graphrag_dagster.kernel.models.chat.chat_model import Listener
from graphrag_dagster.kernel.models.chat.repeating_replies import is_repetitive
from graphrag_dagster.kernel.models.chat.retry_policy import REPETITION
from graphrag_dagster.kernel.models.endpoint.endpoint_address import Address, ClientOptions
from graphrag_dagster.kernel.models.endpoint.response_parsing import (
    MalformedResponse,
    content_of,
    first,
    mapping,
)

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries

#: Where chat requests go.
CHATS = "/chat/completions"
_SHOWN = 400
#: Characters between two looks at whether a reply repeats itself.
_LOOK_EVERY = 500


@dataclass(slots=True)
class _Heard:
    content: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    hidden: bool = False
    finish: object = None
    length: int = 0
    looked_at: int = 0
    ended: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)
    repeated: bool = False

    def take(self, event: Mapping[str, Any], listen: Listener | None) -> None:
        """Take an event in."""
        self.usage = mapping(event.get("usage")) or self.usage
        choice = first(event.get("choices"))
        delta = content_of(choice.get("delta"))
        self.finish = choice.get("finish_reason") or self.finish
        self.hidden |= delta.hidden
        if delta.refusal:
            self.refusal.append(delta.refusal)
        if delta.text:
            self.content.append(delta.text)
            self.length += len(delta.text)
            if listen:
                listen(delta.text)

    def repeats(self) -> bool:
        """Whether what has come so far repeats itself, at two looks one after the other.

        One alone may have met a record that is given twice.
        """
        if self.length - self.looked_at < _LOOK_EVERY:
            return False
        before, self.looked_at = self.repeated, self.length
        self.repeated = is_repetitive("".join(self.content))
        return before and self.repeated

    def end_early(self, prompt_tokens: int) -> None:
        """Take what has come for the reply; a piece is about a token, and servers count only at the end."""
        self.ended, self.finish = True, REPETITION
        self.usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(self.content)}

    def answer(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.content)}
        if self.hidden:
            message["reasoning_content"] = "…"
        if self.refusal:
            message["refusal"] = "".join(self.refusal)
        # A stream that ends without a reason was cut off on its way.
        choice = {"message": message, "finish_reason": self.finish or "length"}
        return {"choices": [choice], "usage": self.usage}


async def stream_reply(
    client: "AsyncOpenAI",
    body: Mapping[str, Any],
    listen: Listener | None,
    prompt_tokens: int,
    tries: "Tries",
) -> bytes:
    """Return the body of a reply that came piece by piece, as that of a whole one.

    A reply that repeats itself is ended: the connection is closed, which makes servers stop writing.

    Args:
        client: the client of the endpoint.
        body: the request.
        listen: hears the text of each piece.
        prompt_tokens: of the request, for the account of a reply that is ended.
        tries: is told how many pieces came, of which each is about a token.

    Raises:
        openai.OpenAIError: the endpoint does not answer, or breaks off.
        MalformedResponse: it sends what is no event, or goes on and on.
    """
    from openai import AsyncStream

    asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
    told = _Heard()
    # Plain JSON: to make typed objects of the pieces takes longer than all else.
    stream = await client.post(CHATS, cast_to=object, body=asked, stream=True, stream_cls=AsyncStream[object])
    async with stream:
        if "json" in stream.response.headers.get("content-type", ""):
            # Some servers do not know streams, and do not say so.
            return await stream.response.aread()
        try:
            async for event in stream:
                if told.ended:
                    continue
                told.take(mapping(event), listen)
                tries.written = len(told.content)
                if told.repeats():
                    told.end_early(prompt_tokens)
                    # Read on to the error: a stream left in its middle is left to the garbage collector.
                    await stream.close()
        except (APIConnectionError, httpx2.StreamError):
            if not told.ended:
                raise
        except (ValueError, RecursionError) as problem:
            shown = str(getattr(problem, "doc", ""))[:_SHOWN].strip()
            raise MalformedResponse(f"sent no usable JSON: {shown or 'an empty event'}") from None
    return json.dumps(told.answer()).encode()


#: Seconds for which a connection stays open that nobody uses.
_KEPT = 5.0
#: Most seconds in which a connection is to be made.
_CONNECTING = 30.0
_ONE = httpx2.Limits(max_connections=1, keepalive_expiry=_KEPT)
#: Bytes of an answer; one that goes on is given up.
MOST_BYTES = 32_000_000
#: Bytes of a file of replies; those of requests may grow by as much as they ask for.
_MOST_OF_FILE = 2_000_000_000
#: What the package tells of this machine and of itself.
_TELLTALE = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
_PLAIN: dict[str, Any] = {f"X-Stainless-{name}": Omit() for name in _TELLTALE}


class Clients:
    """Clients of one endpoint with one connection each, the one that was used last first.

    A client looks at all its connections for each request, which at hundreds of them takes longer than
    sending it. Proxies and certificates are those of the environment. A request is sent once, and no redirect
    is followed: texts go to the endpoint that was named, and to no other that it names. No answer is read
    that has more than 32 MB.

    Args:
        options: how to call the endpoint.
        address: gives the key at each request.
        timeout: seconds for which the endpoint may be silent.
    """

    def __init__(self, options: ClientOptions, address: Address, timeout: float) -> None:
        self._options = options
        self._address = address
        self._timeout = httpx2.Timeout(timeout, connect=min(timeout, _CONNECTING), pool=None)
        self._certificates = httpx2.create_ssl_context()
        self._idle: deque[tuple[AsyncOpenAI, float]] = deque()
        # A proxy that cannot be used is told here, before anything is sent.
        self._idle.append((self._new(), time.monotonic()))

    @asynccontextmanager
    async def one(self) -> AsyncIterator[AsyncOpenAI]:
        """Give a client that nobody else uses meanwhile."""
        while self._idle and self._idle[0][1] < time.monotonic() - _KEPT:
            await self._idle.popleft()[0].close()
        client = self._idle.pop()[0] if self._idle else self._new()
        try:
            yield client
        finally:
            self._idle.append((client, time.monotonic()))

    def _new(self) -> AsyncOpenAI:
        options = self._options
        http = httpx2.AsyncClient(
            verify=self._certificates,
            timeout=self._timeout,
            limits=_ONE,
            follow_redirects=False,
            event_hooks={"response": [_limit_body]},
        )
        given: dict[str, Any] = {
            "base_url": options.base_url,
            "organization": options.organization,
            "project": options.project,
            "default_headers": {**_PLAIN, "User-Agent": "graphrag-dagster", **dict(options.headers)},
            "default_query": dict(options.query),
            "timeout": self._timeout,
            "max_retries": 0,
            "http_client": http,
        }
        if options.api_version is None:
            return AsyncOpenAI(api_key=self._key, **given)
        # A token in a header of one's own stands for the key.
        key = API_KEY_SENTINEL if options.authorised else self._key
        return AsyncAzureOpenAI(api_key=key, api_version=options.api_version, **given)

    async def _key(self) -> str:
        return self._address.key()


async def post(client: AsyncOpenAI, path: str, body: Mapping[str, Any]) -> bytes:
    """Return the answer to a JSON body as it came: to make typed objects of it takes longer than the call.

    Raises:
        openai.OpenAIError: there is none.
        MalformedResponse: it has more bytes than an answer may have.
    """
    answer = await client.post(path, cast_to=httpx2.Response, body=dict(body))
    return answer.content


class Raw(Protocol):
    """An answer that ``openai`` has not made an object of."""

    @property
    def http_response(self) -> httpx2.Response:
        """As it came."""


def body_of(answer: Raw) -> bytes:
    """Return the body of an answer."""
    return answer.http_response.content


async def _limit_body(response: httpx2.Response) -> None:
    """Bound the body of a response as it is unpacked, whoever reads it."""
    most = _MOST_OF_FILE if response.request.url.path.endswith("/content") else MOST_BYTES
    read, size = response.aiter_bytes, 0

    async def counted(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        nonlocal size
        async for piece in read(chunk_size):
            size += len(piece)
            if size > most:
                raise MalformedResponse(
                    f"sent more than {most // 1_000_000} MB, which cannot be a reply", again=False
                )
            yield piece

    # Of this one response: what it gives is counted as it comes.
    response.aiter_bytes = counted  # type: ignore[method-assign]
