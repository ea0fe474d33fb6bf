"""Request and response models of the OpenAI-compatible routes; unknown fields are ignored."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from graphrag_dagster.kernel.questions.filters import Filters
from graphrag_dagster.service.models import FILTERS


class Lenient(BaseModel):
    """Accepts further fields."""

    model_config = ConfigDict(extra="allow")


class Part(Lenient):
    """A part of a message; those that are no text are refused."""

    type: str
    text: str | None = None


class ChatMessage(Lenient):
    """A turn of a conversation; only those of ``user`` and ``assistant`` are read."""

    role: str
    content: str | list[Part] | None = None


class StreamOptions(Lenient):
    """What a stream tells besides the text."""

    include_usage: bool | None = False


class ChatBody(Lenient):
    """A conversation whose last message of the user is the question."""

    model: str = Field(description="`corpus` or `corpus:method`")
    messages: list[ChatMessage]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    filters: Filters | None = Field(None, description=FILTERS)


class ReplyMessage(BaseModel):
    """The answer, with its sources as a list below it."""

    role: Literal["assistant"] = "assistant"
    content: str


class Choice(BaseModel):
    """The one choice there is."""

    index: int = 0
    message: ReplyMessage
    finish_reason: Literal["stop"] = "stop"


class ChatUsage(BaseModel):
    """Tokens of the model's calls; all zero where no model was called."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(BaseModel):
    """An answer in the shape of OpenAI's API."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: ChatUsage


#: What a model can be used for.
ModelType: TypeAlias = Literal["chat", "embedding"]


class Model(BaseModel):
    """A corpus, or a corpus asked by one method; or what embeds."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "graphrag_dagster"
    type: ModelType = "chat"


class ModelList(BaseModel):
    """What can be given as ``model``."""

    object: Literal["list"] = "list"
    data: list[Model]
