"""HTTP requests to an OpenAI-compatible endpoint."""

import json
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from graphrag_dagster.model_calls.endpoint.address import Address
from graphrag_dagster.model_calls.endpoint.envelope import MOST_BYTES, json_object, mapping, text_of

#: The body of an answer and its headers.
Sent = tuple[str, Mapping[str, str]]
#: Seconds for which a connection stays open that nobody uses.
_KEPT = 5.0
_ONE = httpx2.Limits(max_connections=1, keepalive_expiry=_KEPT)
_JSON = {"Content-Type": "application/json"}
#: Headers that an account's variables fill in.
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}


class StatusError(Exception):
    """Raised where an endpoint answers with a status other than success; its text is the status alone.

    Args:
        status: of the answer.
        headers: of the answer.
        text: its body.

    Attributes:
        said: what the body says is wrong, empty where it says nothing.
        code: of the error, None where it has none.
    """

    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        body = json_object(text)
        told = text.strip() if body is None else body.get("error", body)
        self.said = _message(told)
        self.code = mapping(told).get("code")


class _Lines:
    """Clients with one connection each, the one that was used last first.

    A client looks at all its connections for each request, which takes longer than sending it where there are
    hundreds.

    Args:
        connecting: seconds in which a connection is to be made; then no request has a limit here.
    """

    def __init__(self, connecting: float) -> None:
        self._timeout = httpx2.Timeout(None, connect=connecting)
        self._certificates = httpx2.create_ssl_context()
        self._idle: deque[tuple[httpx2.AsyncClient, float]] = deque()

    def new(self) -> httpx2.AsyncClient:
        """Return a client that is nobody's."""
        return httpx2.AsyncClient(
            verify=self._certificates, timeout=self._timeout, limits=_ONE, follow_redirects=False
        )

    @asynccontextmanager
    async def one(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Give a client that nobody else uses meanwhile."""
        while self._idle and self._idle[0][1] < time.monotonic() - _KEPT:
            await self._idle.popleft()[0].aclose()
        line = self._idle.pop()[0] if self._idle else self.new()
        try:
            yield line
        finally:
            self._idle.append((line, time.monotonic()))


class Client:
    """Connections of one event loop to one endpoint; proxies and certificates are those of the environment.

    A request is sent once, and no redirect is followed: texts go to the endpoint that was named, and to no
    other that it names. All requests raise :class:`StatusError`, TimeoutError,
    :class:`~graphrag_dagster.model_calls.endpoint.envelope.BadAnswer` and what ``httpx2`` raises.

    Args:
        address: the endpoint; its key is read from the environment at each request.
        connecting: seconds in which a connection is to be made; then no request has a limit here.
    """

    def __init__(self, address: Address, connecting: float) -> None:
        way = address.way()
        account = {name: os.environ.get(variable, "") for name, variable in _ACCOUNT.items()}
        self._key = address.key
        self._base = way.base_url.rstrip("/")
        self._query = way.query
        self._lines = _Lines(connecting)
        self._headers = {
            **self._lines.new().headers,
            "accept": "application/json",
            "user-agent": "graphrag-dagster",
            **{name: value for name, value in account.items() if value},
        }
        self._authorised = way.headers
        self._urls: dict[str, httpx2.URL] = {}

    async def get(self, path: str, *, most: int = MOST_BYTES, **query: str) -> Sent:
        """Return what stands at a path; ``most`` is the bytes that it may have."""
        async with self._opened("GET", self._url(path, query)) as response:
            return await text_of(response, most), response.headers

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Sent:
        """Return the answer to a JSON body."""
        async with self.streamed(path, body or {}) as response:
            return await text_of(response), response.headers

    async def upload(self, path: str, name: str, content: bytes, fields: Mapping[str, str]) -> Sent:
        """Return the answer to a file with form fields."""
        file = (name, content, "application/jsonl")
        async with self._opened("POST", self._url(path), data=fields, files={"file": file}) as response:
            return await text_of(response), response.headers

    @asynccontextmanager
    async def streamed(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[httpx2.Response]:
        """Give the answer to a JSON body, which is still to be read."""
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        if path not in self._urls:
            self._urls[path] = self._url(path)
        async with self._opened("POST", self._urls[path], _JSON, content=content) as response:
            yield response

    @asynccontextmanager
    async def _opened(
        self, method: str, url: httpx2.URL, headers: Mapping[str, str] | None = None, **content: Any
    ) -> AsyncIterator[httpx2.Response]:
        # Made here whole: the client's own way of making one takes as long as sending it.
        key = {"authorization": f"Bearer {self._key()}"}
        request = httpx2.Request(
            method, url, headers={**self._headers, **(headers or {}), **(self._authorised or key)}, **content
        )
        async with self._lines.one() as line:
            response = await line.send(request, stream=True)
            try:
                if not response.is_success:
                    raise StatusError(response.status_code, response.headers, await text_of(response))
                yield response
            finally:
                await response.aclose()

    def _url(self, path: str, query: Mapping[str, str] | None = None) -> httpx2.URL:
        return httpx2.URL(f"{self._base}/{path}", params={**self._query, **(query or {})})


def _message(told: object) -> str:
    if not isinstance(told, dict):
        return str(told or "")
    inner = told.get("message") or told.get("error") or told.get("detail") or told
    return str(inner.get("message", inner) if isinstance(inner, dict) else inner)
