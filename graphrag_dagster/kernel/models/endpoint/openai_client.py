"""The client of the package ``openai`` for one endpoint, and its whole and streamed replies."""

import json
from collections.abc import Mapping
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
#: Characters between two looks at whether a reply repeats itself, and the share of what had come at the last
#: one: each look reads the whole reply, so that at equal distances they would take the square of its length.
_LOOK_EVERY, _LOOK_SHARE = 500, 0.1
#: Characters of a reply; one that goes on is given up.
_MOST_CHARACTERS = 32_000_000


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
        """Whether what has come so far repeats itself, at two looks with nothing new between them.

        One alone may have met a record that is given twice.
        """
        if self.length - self.looked_at < max(_LOOK_EVERY, _LOOK_SHARE * self.looked_at):
            return False
        before, since = self.repeated, self.looked_at
        text, self.looked_at = "".join(self.content), self.length
        self.repeated = is_repetitive(text)
        return before and self.repeated and is_repetitive(text, since)

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
                if told.length > _MOST_CHARACTERS:
                    raise MalformedResponse(f"sent more than {_MOST_CHARACTERS:,} characters")
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
#: Seconds in which a connection is to be made.
_CONNECTING = 30.0
#: What the package tells of this machine and of itself.
_TELLTALE = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
_PLAIN: dict[str, Any] = {f"X-Stainless-{name}": Omit() for name in _TELLTALE}


def make_client(options: ClientOptions, address: Address, timeout: float) -> AsyncOpenAI:
    """Return a client of an endpoint, whose connections stay open for a while after a call.

    Proxies and certificates are those of the environment. A request is sent once, and no redirect is
    followed: texts go to the endpoint that was named, and to no other that it names.

    Args:
        options: how to call the endpoint.
        address: gives the key at each request.
        timeout: seconds for which the endpoint may be silent.
    """
    limit = httpx2.Timeout(timeout, connect=_CONNECTING, pool=None)
    pool = httpx2.Limits(max_connections=None, keepalive_expiry=_KEPT)

    async def key() -> str:
        return address.key()

    given: dict[str, Any] = {
        "base_url": options.base_url,
        "organization": options.organization,
        "project": options.project,
        "default_headers": {**_PLAIN, "User-Agent": "graphrag-dagster", **dict(options.headers)},
        "default_query": dict(options.query),
        "timeout": limit,
        "max_retries": 0,
        "http_client": httpx2.AsyncClient(timeout=limit, limits=pool, follow_redirects=False),
    }
    if options.api_version is None:
        return AsyncOpenAI(api_key=key, **given)
    # A token in a header of one's own stands for the key.
    own = API_KEY_SENTINEL if options.authorised else key
    return AsyncAzureOpenAI(api_key=own, api_version=options.api_version, **given)


async def post(client: AsyncOpenAI, path: str, body: Mapping[str, Any]) -> bytes:
    """Return the answer to a JSON body as it came: to make typed objects of it takes longer than the call.

    Raises:
        openai.OpenAIError: there is none.
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
