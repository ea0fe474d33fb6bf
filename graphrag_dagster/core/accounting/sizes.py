"""Tokens of a prompt before it is sent, whatever tokenizer the model has."""

from graphrag_dagster.core.language.chat.port import ChatRequest
from graphrag_dagster.core.language.chat.schemas import schema_text

#: Tokens per byte before anything was seen; no common tokenizer of a written language needs more.
_FIRST = 0.5
_MARGIN = 1.15
#: Tokens that a chat template adds, at most.
_TEMPLATE = 200


class PromptSizes:
    """Upper bounds of prompts in tokens; learns from what endpoints count."""

    def __init__(self) -> None:
        self._highest = 0.0

    def at_most(self, request: ChatRequest) -> int:
        """Return the most tokens that a prompt may have."""
        ratio = self._highest * _MARGIN if self._highest else _FIRST
        return int(_bytes(request) * ratio) + _TEMPLATE

    def learn(self, request: ChatRequest, tokens: int) -> None:
        """Take in what the endpoint counted."""
        self._highest = max(self._highest, max(tokens - _TEMPLATE, 0) / max(_bytes(request), 1))


def _bytes(request: ChatRequest) -> int:
    messages = sum(len(message.content.encode("utf-8", "surrogatepass")) for message in request.messages)
    return messages + (len(schema_text(request.schema)) if request.schema else 0)
