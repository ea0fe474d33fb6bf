"""Estimates the tokens of a prompt for any tokenizer, and checks that the whole prompt arrived."""

from graphrag_dagster.kernel.models.chat.port import ChatRequest
from graphrag_dagster.kernel.models.chat.schemas import schema_text

#: The fix for a context that is too small.
SERVE_MORE = (
    "serve the model with a larger context (Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx in its Modelfile; "
    "llama.cpp: --ctx-size; vLLM: --max-model-len)"
)
#: Tokens per byte before anything was seen; no common tokenizer of a written language needs more.
_FIRST = 0.5
_MARGIN = 1.15
#: Tokens that a chat template adds, at most.
_TEMPLATE = 200
#: Bytes of a prompt that has to fit into any context, and for each token of one that need not be counted.
_SMALL, _COUNTED = 4000, 5
#: The encoding with the fewest tokens for most languages, and the share of them that any model counts. What
#: serves the common models counts between 0.85 and 1.6 of them.
_FEWEST, _WHOLE = "o200k_base", 0.8
#: The share of the most tokens of a prompt so far that one which was cut has: all are cut at the same length.
_AS_LONG = 0.9


class PromptSizes:
    """Upper bounds of prompts in tokens; learns from what endpoints count."""

    def __init__(self) -> None:
        self._highest = 0.0
        self._most = 0

    def at_most(self, request: ChatRequest) -> int:
        """Return the most tokens that a prompt may have."""
        ratio = self._highest * _MARGIN if self._highest else _FIRST
        return int(_bytes(request) * ratio) + _TEMPLATE

    def learn(self, request: ChatRequest, tokens: int) -> None:
        """Take in what the endpoint counted."""
        self._most = max(self._most, tokens)
        self._highest = max(self._highest, max(tokens - _TEMPLATE, 0) / max(_bytes(request), 1))

    def sent(self, request: ChatRequest, tokens: int) -> int | None:
        """Return the tokens that were sent, by estimate, where far fewer arrived; None where all may have.

        A model's own count of a prompt differs from ours; and some servers do not count what they have in
        their cache. So the prompt must have lost a fifth at least, and be about as long as the longest that
        arrived: a server which cuts prompts cuts all of them at the length of its context.

        Args:
            request: that was sent.
            tokens: of the prompt by the endpoint's count, 0 where it gives none.
        """
        size = sum(len(message.content.encode("utf-8", "surrogatepass")) for message in request.messages)
        if not tokens or size < _SMALL or size <= _COUNTED * tokens or tokens < _AS_LONG * self._most:
            return None
        from graphrag_dagster.kernel.text.tokens import get_tokenizer

        encoding = get_tokenizer(_FEWEST)
        counted = sum(encoding.count(message.content) for message in request.messages)
        return counted if tokens < _WHOLE * counted else None


def _bytes(request: ChatRequest) -> int:
    messages = sum(len(message.content.encode("utf-8", "surrogatepass")) for message in request.messages)
    return messages + (len(schema_text(request.schema)) if request.schema else 0)
