"""The port to a chat model, and a record of the cached replies that a task has read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from graphrag_dagster.errors import EndpointError

T = TypeVar("T")

Role = Literal["system", "user", "assistant"]
Listener = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a task, and how many replies had to be repaired; all zero for the extractive engine."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    repaired: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.repaired + other.repaired,
        )


@dataclass(frozen=True)
class Items(Generic[T]):
    """The results, in order; if they are missing, ``problem`` says why."""

    items: tuple[T, ...] = ()
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class CallFailed(EndpointError):
    """One call got no reply although the endpoint is there: its retries are used up."""


class RefusedInBatch(CallFailed):
    """A batch came back without a reply to this request: it is to be asked directly."""


class Refused(CallFailed):
    """The endpoint understood the request and will not do it, for instance because it is too long."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """All that determines a reply, save for the model and its sampling.

    ``schema`` asks for a JSON reply of that shape. ``forced_tokens`` are token ids that get a logit bias of
    +100. ``temperature`` None is the model's own. ``again`` counts how often this was asked before without a
    usable reply, and ``first`` is how it was asked first, where the words were others; a request asked again
    is never answered from memory, and goes before all that wait, as one does that is ``urgent``.
    ``replicate`` tells apart requests that are the same on purpose: each has a reply of its own.
    ``expected`` is how many tokens the reply is guessed to have, 0 where nothing is known.
    """

    task: str
    messages: tuple[Message, ...]
    max_tokens: int
    schema: type[BaseModel] | None = None
    temperature: float | None = None
    forced_tokens: tuple[int, ...] = ()
    again: int = 0
    replicate: int = 0
    urgent: bool = False
    expected: int = 0
    first: "ChatRequest | None" = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply as it came. ``finish_reason`` is ``stop``, ``length`` (cut off) or what the endpoint says.

    ``note`` says how a reply came about that is not the model's plain reply to this very request; it is
    cached with it. ``cached_input_tokens`` are those of ``input_tokens`` that the provider had in its own
    cache.
    """

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    note: str | None = None
    cached_input_tokens: int = 0

    @property
    def usage(self) -> Usage:
        """One call with its tokens."""
        return Usage(1, self.input_tokens, self.output_tokens)


class ChatModel(Protocol):
    """A chat model behind some endpoint; its calls all run on one event loop."""

    @property
    def name(self) -> str:
        """The model's name; tells which tokens it has."""

    @property
    def concurrency(self) -> int:
        """Most calls in flight."""

    async def complete(self, request: ChatRequest, listen: Listener | None = None) -> ChatReply:
        """Return the reply, whatever it holds; ``listen`` hears its text as it comes.

        Raises:
            CallFailed: this call got no reply.
            EndpointError: the endpoint cannot be used at all.
        """

    def remember(self, request: ChatRequest, reply: ChatReply) -> None:
        """Take note that this reply to this request proved usable.

        A model with a memory will answer the same request with it from now on; no other reply is ever
        cached, so that a bad one cannot become permanent.
        """


_noted: ContextVar[dict[str, None] | None] = ContextVar("_noted", default=None)


@contextmanager
def collect_reused_replies() -> Iterator[dict[str, None]]:
    """Collect the keys of the cached replies that are used within, in their order.

    Work within that is not to be counted, such as replies of which another is made, collects for itself.
    """
    keys: dict[str, None] = {}
    token = _noted.set(keys)
    try:
        yield keys
    finally:
        _noted.reset(token)


def note_reply(key: bytes) -> None:
    """Say that a cached reply is used."""
    keys = _noted.get()
    if keys is not None:
        keys[key.hex()] = None
