"""The port to a chat model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel

from graphrag_dagster.core.errors import EndpointError
from graphrag_dagster.core.language.tasks import Usage

Role = Literal["system", "user", "assistant"]


class CallFailed(EndpointError):
    """One call got no reply although the endpoint is there: retries used up, or the request refused."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """All that determines a reply, save for the model and its sampling temperature.

    ``schema`` asks for a JSON reply of that shape. ``forced_tokens`` are token ids that get a logit bias of
    +100. ``temperature`` None is the model's own.
    """

    task: str
    messages: tuple[Message, ...]
    max_tokens: int
    schema: type[BaseModel] | None = None
    temperature: float | None = None
    forced_tokens: tuple[int, ...] = ()


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply as it came. ``finish_reason`` is ``stop``, ``length`` (cut off) or what the endpoint says.

    ``accept`` is called once the reply has proved usable, so that a model that remembers replies never
    keeps a bad one.
    """

    text: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    accept: Callable[[], None] = _nothing

    @property
    def usage(self) -> Usage:
        """One call with its tokens."""
        return Usage(1, self.input_tokens, self.output_tokens)


class ChatModel(Protocol):
    """A chat model behind some endpoint; its calls all run on the loop of :mod:`.loop`."""

    @property
    def name(self) -> str:
        """The model's name; tells which tokens it has."""

    @property
    def concurrency(self) -> int:
        """Most calls in flight."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply, whatever it holds.

        Raises:
            CallFailed: this call got no reply.
            EndpointError: the endpoint cannot be used at all.
        """
