"""What a chat request asks of the reply besides its text: what is done, and what is refused."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from graphrag_dagster.kernel.questions.document_filters import Filters
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.service.error_responses import Refusal
from graphrag_dagster.service.openai.chat_messages import ChatMessage, Lenient, StreamOptions
from graphrag_dagster.service.request_models import FILTERS

_ENCODING = "cl100k_base"
#: Most stop sequences of a request, and characters of one: each is looked for in every piece of a reply.
_STOPS, _LONGEST_STOP = 16, 1_000


class ChatBody(Lenient):
    """A conversation whose last message of the user is the question; other fields of OpenAI's are ignored."""

    model: str = Field(description="`corpus` or `corpus:method`")
    messages: list[ChatMessage]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    filters: Filters | None = Field(None, description=FILTERS)
    n: int | None = Field(None, description="1; a question has one answer")
    max_tokens: int | None = Field(
        None, description="most tokens of the reply in cl100k_base, sources included; then it is cut"
    )
    max_completion_tokens: int | None = Field(None, description="the same; it comes before `max_tokens`")
    stop: str | list[str] | None = Field(None, description="the reply ends before the first of these")
    response_format: dict[str, Any] | None = Field(
        None, description="type `text`; JSON only for a task of a chat page, such as a title"
    )
    tools: list[Any] | None = Field(None, description="ignored; none is ever called")
    tool_choice: str | dict[str, Any] | None = Field(None, description="`auto` or `none`")
    function_call: str | dict[str, Any] | None = Field(None, description="as `tool_choice`")
    logprobs: bool | None = Field(None, description="false; there are none")
    modalities: list[str] | None = Field(None, description="`text`")

    def check(self) -> None:
        """Check what no reply of this server can be.

        Raises:
            Refusal: (400) a parameter asks for what is not supported.
        """
        if self.n not in (None, 1):
            raise _unsupported("n", "must be 1: a question has one answer")
        for name in ("max_tokens", "max_completion_tokens"):
            if (most := getattr(self, name)) is not None and most < 1:
                raise _unsupported(name, "must be 1 or more")
        if len(self._stops) > _STOPS or any(len(stop) > _LONGEST_STOP for stop in self._stops):
            raise _unsupported("stop", f"must be at most {_STOPS} texts of {_LONGEST_STOP:,} characters")
        for name in ("tool_choice", "function_call"):
            if getattr(self, name) not in (None, "auto", "none"):
                raise _unsupported(name, "must be auto or none: no tool is ever called")
        if self.logprobs:
            raise _unsupported("logprobs", "must be false: an answer has no probabilities of tokens")
        if set(self.modalities or ()) - {"text"}:
            raise _unsupported("modalities", 'must be ["text"]: answers are text')

    def check_format(self) -> None:
        """Check the form of the answer to a question.

        Raises:
            Refusal: (400) it is none of text.
        """
        if (self.response_format or {}).get("type", "text") != "text":
            raise _unsupported("response_format", "must be of type text: answers are Markdown, not JSON")

    @property
    def limit(self) -> "ReplyLimit":
        """What cuts the reply."""
        most = self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens
        return ReplyLimit(most, [stop for stop in self._stops if stop])

    @property
    def _stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []


def _unsupported(name: str, told: str) -> Refusal:
    return Refusal(400, "unsupported_parameter", f"{name} {told}", param=name)


class ReplyLimit:
    """Ends a reply before a stop sequence or after a number of tokens, also where it comes in pieces.

    Args:
        tokens: most of them, in cl100k_base; None: any number.
        stops: sequences before the first of which the reply ends.
    """

    def __init__(self, tokens: int | None, stops: Sequence[str]) -> None:
        self._tokens = tokens
        self._stops = stops
        self._told = self._held = ""
        self._ended = False
        self.finish: Literal["stop", "length"] = "stop"

    def feed(self, piece: str) -> str:
        """Return what of the reply can be sent and has not been returned."""
        if self._ended:
            return ""
        text = self._held + piece
        ends = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        self._ended = bool(ends)
        begun = (size for stop in self._stops for size in range(1, len(stop)) if text.endswith(stop[:size]))
        sent = min(ends) if ends else len(text) - max(begun, default=0)
        self._held = text[sent:]
        return self._cut(text[:sent])

    def rest(self) -> str:
        """Return what was held back, where no stop sequence came of it."""
        held, self._held = self._held, ""
        return "" if self._ended else self._cut(held)

    def _cut(self, text: str) -> str:
        whole = self._told + text
        # A token has a byte or more.
        if self._tokens is not None and len(whole.encode()) > self._tokens:
            cut = get_tokenizer(_ENCODING).truncate(whole, self._tokens)
            if len(cut) < len(whole):
                self._ended, self.finish = True, "length"
                text = cut[len(self._told) :]
        self._told += text
        return text
