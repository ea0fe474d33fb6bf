"""Models with an LLM cache: the same request is sent only once, and every request is accounted for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.cache.llm_cache import reply_key, reply_keys
from graphrag_dagster.kernel.models.cache.usage_account import (
    CostMeter,
    UsageAccount,
    use_of,
)
from graphrag_dagster.kernel.models.chat.chat_model import (
    ChatReply,
    ChatRequest,
    Listener,
    RefusedInBatch,
    note_reply,
)
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel, ServerReply
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

#: The fix for a context that is too small.
SERVE_MORE = (
    "serve the model with a larger context (Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx in its Modelfile; "
    "llama.cpp: --ctx-size; vLLM: --max-model-len)"
)
#: Tokens per byte; no common tokenizer of a written language needs more.
_TOKENS_PER_BYTE = 0.5
#: Tokens that a chat template adds, at most.
_TEMPLATE = 200
#: Bytes of a prompt that has to fit into any context, and for each token of one that need not be counted.
_SMALL, _COUNTED = 4000, 5
#: The encoding with the fewest tokens for most languages, and the share of them that any model counts. What
#: serves the common models counts between 0.85 and 1.6 of them.
_FEWEST, _WHOLE = "o200k_base", 0.8
#: The share of the most tokens of a prompt so far that one which was cut has: all are cut at the same length.
_AS_LONG = 0.9
#: The most tokens of a prompt so far, by model.
_longest: dict[str, int] = {}


def _most_tokens(request: ChatRequest) -> int:
    """The most tokens that a prompt may have."""
    # Loaded where a model is asked: all shapes of replies are models of pydantic.
    from graphrag_dagster.kernel.models.chat.reply_schemas import schema_text

    size = _bytes(request) + (len(schema_text(request.schema)) if request.schema else 0)
    return int(size * _TOKENS_PER_BYTE) + _TEMPLATE


def _bytes(request: ChatRequest) -> int:
    return sum(len(message.content.encode("utf-8", "surrogatepass")) for message in request.messages)


def check_whole(model: str, request: ChatRequest, arrived: int) -> None:
    """Make sure that a server has read the whole of a prompt.

    A model's own count of a prompt differs from ours; and some servers do not count what they have in their
    cache. So the prompt must have lost a fifth at least, and be about as long as the longest that arrived: a
    server which cuts prompts cuts all of them at the length of its context.

    Args:
        model: its name.
        request: that was sent.
        arrived: tokens of the prompt by the endpoint's count, 0 where it gives none.

    Raises:
        EndpointError: it has read only a part.
    """
    longest = _longest[model] = max(_longest.get(model, 0), arrived)
    size = _bytes(request)
    if not arrived or size < _SMALL or size <= _COUNTED * arrived or arrived < _AS_LONG * longest:
        return
    from graphrag_dagster.kernel.text.tokenization import get_tokenizer

    encoding = get_tokenizer(_FEWEST)
    sent = sum(encoding.count(message.content) for message in request.messages)
    if arrived < _WHOLE * sent:
        raise EndpointError(
            f"{model} read only {arrived:,} of about {sent:,} tokens of a prompt and silently dropped the "
            f"rest: {SERVE_MORE}, or have sizes set that fit: graphrag-dagster doctor CORPUS --fix"
        )


class Sender(Protocol):
    """Sends requests to a model."""

    @property
    def settings(self) -> ModelSettings:
        """The model."""

    @property
    def concurrency(self) -> int:
        """Most calls in flight."""

    async def send(
        self, request: ChatRequest, listen: Listener | None = None, tries: Tries | None = None
    ) -> ServerReply:
        """Return the reply; see :class:`.OpenAIChatModel`."""


class CachedChatModel:
    """A :class:`~graphrag_dagster.kernel.models.chat.chat_model.ChatModel` that pays for nothing twice.

    A reply is cached the moment it has proved usable. Requests that are the same and under way at the same
    time are sent once.

    Args:
        sender: sends what is not cached.
        account: where calls are booked.
        meter: their prices and limits.
        gate: is awaited once, before the first request is sent; raises where the endpoint is unusable.
        direct: asks, at its own price, what a batch came back without.
    """

    def __init__(
        self,
        sender: Sender,
        account: UsageAccount,
        meter: CostMeter,
        gate: Callable[[], Awaitable[None]] | None = None,
        direct: tuple[Sender, CostMeter] | None = None,
    ) -> None:
        self.name = sender.settings.name
        self._sender = sender
        self._account = account
        self._meter = meter
        self._direct = direct
        self._gate = gate
        self._leases = account.replies.database.leases
        self._opened: asyncio.Task[None] | None = None
        self._under_way: dict[bytes, asyncio.Event] = {}
        self._seconds: dict[bytes, float] = {}

    @property
    def concurrency(self) -> int:
        """Most calls in flight."""
        return self._sender.concurrency

    async def complete(self, request: ChatRequest, listen: Listener | None = None) -> ChatReply:
        """Return the cached reply, else send for one.

        Raises:
            CallFailed: this call got no reply.
            BudgetExhausted: the call might pass a limit of the run.
            EndpointError: the endpoint cannot be used at all, or reads only a part of a prompt.
        """
        keys = reply_keys(self._sender.settings, request)
        key = keys[0]
        if request.again:
            return await self._send_again(request, key, listen)
        while other := self._under_way.get(key):
            await other.wait()
        done = self._under_way[key] = asyncio.Event()
        try:
            # One that is under a key of 0.1.0 comes under that of today once it is used.
            while (kept := await self._account.replies.find(keys, self._account.user)) is None:
                # Another process may have asked for it meanwhile.
                if await self._leases.take(key):
                    try:
                        return await self._send(request, key, listen)
                    finally:
                        self._leases.leave(key)
        finally:
            # Who waits runs only after the caller has judged the reply, since nothing is awaited before.
            del self._under_way[key]
            done.set()
        saved = kept.input_tokens + kept.output_tokens
        self._account.book(request.task, self.name, ModelUse(cached=1, saved_tokens=saved))
        note_reply(key)
        if listen:
            listen(kept.text)
        return kept

    async def _send_again(self, request: ChatRequest, key: bytes, listen: Listener | None) -> ChatReply:
        """Ask again, while other processes go on waiting for the reply to what was asked first."""
        first = reply_key(self._sender.settings, request.first) if request.first else key
        self._leases.hold_on(first)
        try:
            # A usable reply is remembered as that to the first request, whatever was asked in the end.
            return await self._send(request, first, listen)
        finally:
            self._leases.leave(first)

    def remember(self, request: ChatRequest, reply: ChatReply) -> None:
        """Cache a usable reply to this request."""
        key = reply_key(self._sender.settings, request)
        seconds = self._seconds.pop(key, 0.0)
        self._account.replies.keep(key, request.task, self.name, reply, seconds, self._account.user)
        note_reply(key)

    async def _send(self, request: ChatRequest, key: bytes, listen: Listener | None) -> ChatReply:
        await self.open()
        try:
            came = await send_accounted(self._sender.send, self._meter, request, listen)
        except RefusedInBatch:
            if self._direct is None:
                raise
            sender, meter = self._direct
            came = await send_accounted(sender.send, meter, request, listen)
        check_whole(self.name, request, came.reply.input_tokens)
        self._seconds[key] = came.seconds
        return came.reply

    async def open(self) -> None:
        """Make sure, once, that the endpoint is of use.

        Raises:
            EndpointError: it is not.
        """
        if self._gate is None:
            return
        if self._opened is None:
            self._opened = asyncio.ensure_future(self._gate())
        await asyncio.shield(self._opened)


async def send_accounted(
    send: Callable[[ChatRequest, Listener | None, Tries], Awaitable[ServerReply]],
    meter: CostMeter,
    request: ChatRequest,
    listen: Listener | None,
    tries: Tries | None = None,
) -> ServerReply:
    """Return the reply; what the call may cost is reserved, what it has cost is booked however it ends."""
    tries = tries or Tries(request.task)
    async with meter.paying(_most_tokens(request), request.max_tokens, tries) as used:
        came = await send(request, listen, tries)
        paid = use_of(came.reply, tries, repeated=request.again > 0)
        used.append(paid if came.paid else ModelUse(cached=1))
    return came


class AccountedChatModel(OpenAIChatModel):
    """A chat model without memory whose calls are booked: for questions about the model itself.

    Args:
        settings: the model.
        meter: books its calls.
    """

    def __init__(self, settings: ModelSettings, meter: CostMeter) -> None:
        super().__init__(settings)
        self._meter = meter

    async def send(
        self, request: ChatRequest, listen: Listener | None = None, tries: Tries | None = None
    ) -> ServerReply:
        """Return the reply; see :class:`.OpenAIChatModel`."""
        return await send_accounted(super().send, self._meter, request, listen, tries)
