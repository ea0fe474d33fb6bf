"""Chat with any OpenAI-compatible server; replies are streamed, wherever the server counts their tokens."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest, Listener
from graphrag_dagster.kernel.models.chat.hidden_reasoning import split
from graphrag_dagster.kernel.models.chat.reply_parsing import storable
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
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI


#: Tokens that a reply is taken to have where nothing else is known.
_FIRST_GUESS = 500
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
        tokens = prompt + min(request.expected or _FIRST_GUESS, request.max_tokens)
        first = request.urgent or request.again > 0
        while True:
            used = self._capabilities()
            send = partial(self._call, request, listen, used, tries)
            try:
                came = await self.connection.call(send, what, tokens, tries=tries, first=first)
            except asyncio.CancelledError:
                tries.read = prompt
                raise
            except RefusedWith as refusal:
                known = self._capabilities()
                left = used.without(refusal.said) if known == used else known
                if left is None:
                    raise
                self._set(left)
                continue
            reply = read_reply(came.answer)
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
            self._set(known.with_less_reasoning())

    async def _call(
        self,
        request: ChatRequest,
        listen: Listener | None,
        used: Capabilities,
        tries: Tries,
        client: "AsyncOpenAI",
    ) -> bytes:
        """A reply is read as it comes: so a slow one is told from one that will never come."""
        from graphrag_dagster.kernel.models.endpoint.openai_client import CHATS, post, stream_reply

        tries.written = 0
        body = chat_body(self.settings, request, used)
        if not used.stream or not (listen or used.counts):
            return await post(client, CHATS, body)
        text = await stream_reply(client, body, listen, _prompt_tokens(request), tries)
        if _UNCOUNTED in text and (known := self._capabilities()).counts:
            self._set(replace(known, counts=False))
        return text


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
    return bool(usage_of(answer).reasoning_tokens or content.hidden or split(content.text).hidden)
