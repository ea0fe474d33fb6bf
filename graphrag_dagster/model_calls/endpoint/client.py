"""Clients of the package ``openai`` for an endpoint, with connections and limits of our own."""

import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx2
from openai import AsyncAzureOpenAI, AsyncOpenAI, Omit
from openai.lib.azure import API_KEY_SENTINEL

from graphrag_dagster.model_calls.endpoint.address import Address, Way
from graphrag_dagster.model_calls.endpoint.envelope import BadAnswer

#: The body of an answer and its headers.
Sent = tuple[bytes, Mapping[str, str]]
#: Seconds for which a connection stays open that nobody uses.
_KEPT = 5.0
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
        way: how to call the endpoint.
        address: gives the key at each request.
        connecting: seconds in which a connection is to be made; then no request has a limit here.
    """

    def __init__(self, way: Way, address: Address, connecting: float) -> None:
        self._way = way
        self._address = address
        self._timeout = httpx2.Timeout(None, connect=connecting)
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
        way = self._way
        http = httpx2.AsyncClient(
            verify=self._certificates,
            timeout=self._timeout,
            limits=_ONE,
            follow_redirects=False,
            event_hooks={"response": [_bounded]},
        )
        given: dict[str, Any] = {
            "base_url": way.base_url,
            "organization": way.organization,
            "project": way.project,
            "default_headers": {**_PLAIN, "User-Agent": "graphrag-dagster", **dict(way.headers)},
            "default_query": dict(way.query),
            "timeout": self._timeout,
            "max_retries": 0,
            "http_client": http,
        }
        if way.api_version is None:
            return AsyncOpenAI(api_key=self._key, **given)
        # A token in a header of one's own stands for the key.
        key = API_KEY_SENTINEL if way.authorised else self._key
        return AsyncAzureOpenAI(api_key=key, api_version=way.api_version, **given)

    async def _key(self) -> str:
        return self._address.key()


async def post(client: AsyncOpenAI, path: str, body: Mapping[str, Any]) -> Sent:
    """Return the answer to a JSON body as it came: to make typed objects of it takes longer than the call.

    Raises:
        openai.OpenAIError: there is none.
        BadAnswer: it has more bytes than an answer may have.
    """
    answer = await client.post(path, cast_to=httpx2.Response, body=dict(body))
    return answer.content, answer.headers


class Raw(Protocol):
    """An answer that ``openai`` has not made an object of."""

    @property
    def http_response(self) -> httpx2.Response:
        """As it came."""


def sent(answer: Raw) -> Sent:
    """Return the body and the headers of an answer."""
    return answer.http_response.content, answer.http_response.headers


async def _bounded(response: httpx2.Response) -> None:
    """Bound the body of a response as it is unpacked, whoever reads it."""
    most = _MOST_OF_FILE if response.request.url.path.endswith("/content") else MOST_BYTES
    read, size = response.aiter_bytes, 0

    async def counted(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        nonlocal size
        async for piece in read(chunk_size):
            size += len(piece)
            if size > most:
                raise BadAnswer(f"sent more than {most // 1_000_000} MB, which is no reply", again=False)
            yield piece

    response.aiter_bytes = counted  # type: ignore[method-assign]
