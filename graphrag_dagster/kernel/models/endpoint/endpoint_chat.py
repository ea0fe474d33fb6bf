"""Chat with any OpenAI-compatible server; the lengths of past replies set the limits of the next."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest, Listener
from graphrag_dagster.kernel.models.chat.reply_parsing import is_hidden, storable
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Connection, Tries
from graphrag_dagster.kernel.models.endpoint.error_mapping import RefusedWith
from graphrag_dagster.kernel.models.endpoint.request_bodies import (
    Capabilities,
    capabilities_of,
    chat_body,
    set_capabilities,
)
from graphrag_dagster.kernel.models.endpoint.response_parsing import (
    content_of,
    finish_reason,
    first,
    usage_of,
)
from graphrag_dagster.kernel.models.endpoint.timeouts import Size
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from graphrag_dagster.kernel.models.endpoint.openai_client import Sent


#: Tokens of a reply before any of its task was seen.
_FIRST_GUESS = 500
_NEW = 0.1
#: How many of the last whole replies to a task tell how long one may be, since what is large is begun first;
#: how much longer than all of them it may be; and what any may have.
_FEWEST, _LAST, _ROOM, _ALWAYS = 20, 60, 2, 1000
#: How many times as long as expected replies are taken to be while only a few were seen.
_UNSEEN = 2.0


def _last() -> "deque[float]":
    return deque(maxlen=_LAST)


@dataclass(slots=True)
class _Seen:
    """Of replies of a kind: the mean length; lengths of the last whole ones, and these over the expected."""

    mean: float
    lengths: "deque[float]" = field(default_factory=_last)
    ratios: "deque[float]" = field(default_factory=_last)


class ReplyLengths:
    """Learns from the replies of a model, by task; a continuation is another thing than a first reply."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, bool], _Seen] = {}

    def learn(self, request: ChatRequest, tokens: int, *, whole: bool) -> None:
        """Take note of a reply; one that was cut off tells nothing of how long whole ones are."""
        seen = self._tasks.setdefault(_kind(request), _Seen(tokens))
        seen.mean += _NEW * (tokens - seen.mean)
        if whole and tokens:
            seen.lengths.append(tokens)
            if request.expected:
                seen.ratios.append(tokens / request.expected)

    def expected(self, request: ChatRequest) -> int:
        """Return the tokens that a reply is likely to have."""
        seen = self._tasks.get(_kind(request))
        return min(_FIRST_GUESS if seen is None else int(seen.mean), request.max_tokens)

    def limit(self, request: ChatRequest, *, slow: bool = False) -> int:
        """Return the tokens after which a first reply is better cut off: it runs on without an end.

        Nothing is lost with one that does end: what was cut off is asked for again, with all the room. Of a
        slow model the limit follows what is expected before many replies were seen.
        """
        most, seen = request.max_tokens, self._tasks.get(_kind(request), _Seen(0))
        likely = [
            factor * max(of)
            for of, factor in ((seen.lengths, 1), (seen.ratios, request.expected))
            if len(of) >= _FEWEST and factor
        ]
        if not likely and request.expected and slow:
            likely = [request.expected * max([_UNSEEN, *seen.ratios])]
        return min(most, max(round(_ROOM * min(likely)), _ALWAYS)) if likely else most


def _kind(request: ChatRequest) -> tuple[str, bool]:
    return request.task, request.continues


_CHARACTERS_PER_TOKEN = 4
_UNCOUNTED = b'"usage": {}'


@dataclass(frozen=True, slots=True)
class ServerReply:
    """A reply with the seconds that the endpoint took for it.

    ``reasoned``: the model reasoned where nobody sees it. ``paid``: it is on no earlier account.
    """

    reply: ChatReply
    seconds: float
    reasoned: bool = False
    paid: bool = True


class OpenAIChatModel:
    """A chat model behind an endpoint, without memory; a
    :class:`~graphrag_dagster.kernel.models.chat.chat_model.ChatModel`.

    Args:
        settings: the model and its endpoint.
        first_wait: seconds before the first retry.
    """

    def __init__(self, settings: ModelSettings, *, first_wait: float = 0.5) -> None:
        self.name = settings.name
        self.settings = settings
        self.connection = Connection(settings, settings.name, first_wait)
        self._lengths = ReplyLengths()

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.name!r}, base_url={self.connection.shown_url!r})"

    @property
    def concurrency(self) -> int:
        """Most calls in flight."""
        return self.connection.concurrency

    async def complete(self, request: ChatRequest, listen: Listener | None = None) -> ChatReply:
        """Return the reply; see :meth:`send`."""
        return (await self.send(request, listen)).reply

    def remember(self, request: ChatRequest, reply: ChatReply) -> None:
        """Keep nothing; see :class:`.CachedChatModel`."""

    async def send(
        self, request: ChatRequest, listen: Listener | None = None, tries: Tries | None = None
    ) -> ServerReply:
        """Return the reply; what the endpoint does not understand is left out once and for all.

        Args:
            request: what is asked.
            listen: hears the text of the reply as it comes.
            tries: kept up while the call goes on.

        Raises:
            CallFailed: this call got no reply.
            EndpointError: the endpoint cannot be used at all.
        """
        what, prompt = f"model {self.name}", _prompt_tokens(request)
        tries = tries or Tries(request.task)
        size = Size(prompt, request.max_tokens)
        while True:
            used = self._capabilities()
            send = partial(self._call, request, listen, used, size)
            try:
                tokens = prompt + self._lengths.expected(request)
                first = request.urgent or request.again > 0
                came = await self.connection.call(send, what, tokens, size=size, tries=tries, first=first)
            except asyncio.CancelledError:
                tries.given_up = Size(prompt, self.connection.pace.expected_tokens(size, tries.seconds))
                raise
            except RefusedWith as refusal:
                known = self._capabilities()
                left = used.without(refusal.said, self.connection.url) if known == used else known
                if left is None:
                    raise
                self._set(left)
                continue
            reply = read_reply(came.answer)
            self._learn(request, reply, came.seconds)
            reasoned = _reasoned(came.answer)
            if reasoned and self.settings.reasoning == "off":
                self._turn_reasoning_off(used)
            if listen and not used.stream:
                listen(reply.text)
            return ServerReply(reply, came.seconds, reasoned)

    def _capabilities(self) -> Capabilities:
        return capabilities_of(self.connection.url, self.name)

    def _set(self, capabilities: Capabilities) -> None:
        set_capabilities(self.connection.url, self.name, capabilities)

    def _turn_reasoning_off(self, used: Capabilities) -> None:
        known = self._capabilities()
        # Calls in flight together see the same reasoning; only the first of them changes anything.
        if known.silence == used.silence:
            self._set(known.with_less_reasoning(self.connection.url))

    async def _call(
        self,
        request: ChatRequest,
        listen: Listener | None,
        used: Capabilities,
        size: Size,
        client: "AsyncOpenAI",
        heard: Callable[[], None],
    ) -> "Sent":
        """A slow reply is heard as it comes: so it is told from one that will never come."""
        from graphrag_dagster.kernel.models.endpoint.openai_client import CHATS, post, stream_reply

        # Made at last: while it waited for its turn, others have told how long a reply may be.
        likely = Size(size.prompt, self._lengths.expected(request))
        slow = self.connection.pace.is_watched(likely)
        body = chat_body(self.settings, self._with_reply_limit(request, slow=slow), used)
        watched = used.counts and (slow or self.connection.is_slow(size))
        if not used.stream or not (listen or watched):
            return await post(client, CHATS, body)
        text, headers = await stream_reply(client, body, listen, heard, size.prompt)
        if _UNCOUNTED in text and (known := self._capabilities()).counts:
            self._set(replace(known, counts=False))
        return text, headers

    def _with_reply_limit(self, request: ChatRequest, *, slow: bool) -> ChatRequest:
        """What is asked again has all the room there is."""
        if request.again:
            return request
        return replace(request, max_tokens=self._lengths.limit(request, slow=slow))

    def _learn(self, request: ChatRequest, reply: ChatReply, seconds: float) -> None:
        whole = reply.finish_reason == "stop"
        self._lengths.learn(request, reply.output_tokens, whole=whole)
        if written := reply.output_tokens or len(reply.text) // _CHARACTERS_PER_TOKEN:
            size = Size(reply.input_tokens or _prompt_tokens(request), written)
            self.connection.pace.on_answer(size, seconds)


def _prompt_tokens(request: ChatRequest) -> int:
    return sum(len(message.content) for message in request.messages) // _CHARACTERS_PER_TOKEN


def read_reply(answer: Mapping[str, Any]) -> ChatReply:
    """Return the reply in the body of a chat completion; what has no meaning in it counts as not there."""
    choice = first(answer.get("choices"))
    content, usage = content_of(choice.get("message")), usage_of(answer)
    return ChatReply(
        storable(content.text),
        "refusal" if content.refusal else finish_reason(choice.get("finish_reason")),
        usage.input_tokens,
        usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
    )


def _reasoned(answer: Mapping[str, Any]) -> bool:
    content = content_of(first(answer.get("choices")).get("message"))
    return bool(usage_of(answer).reasoning_tokens or content.hidden or is_hidden(content.text))
