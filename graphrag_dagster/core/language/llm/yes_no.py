"""The one-token question whether anything is missing (paper §3.1.2)."""

import re
from dataclasses import dataclass

from graphrag_dagster.core.corpus.vocabularies import ENCODINGS, vocabulary_at_hand
from graphrag_dagster.core.language.llm.chat import CallFailed, ChatModel, ChatRequest, Message
from graphrag_dagster.core.language.llm.prompts_port import Prompt
from graphrag_dagster.core.language.llm.replies import UnusableReply, visible
from graphrag_dagster.core.language.tasks import Usage

_WORD = re.compile(r"[^\W\d_]+")
#: Tokens of a reply that nothing forces to be short.
_SHORT = 16


@dataclass(frozen=True, slots=True)
class YesNo:
    """Asks a yes/no question at the end of a conversation; anything but YES is no.

    ``forced`` are the first tokens of YES and NO; empty where the endpoint cannot force them, then the first
    word of a short reply counts.
    """

    model: ChatModel
    task: str
    prompt: Prompt
    forced: tuple[int, ...] = ()

    async def ask(self, messages: tuple[Message, ...]) -> tuple[bool, tuple[Message, ...], Usage]:
        """Return whether the reply is yes, the conversation with question and reply, and the cost.

        Raises:
            UnusableReply: the call failed.
            EndpointError: the endpoint cannot be used at all.
        """
        asked = (*messages, Message("user", self.prompt.render()))
        usage, word = Usage(), ""
        if self.forced:
            word, usage = await self._word(ChatRequest(self.task, asked, 1, forced_tokens=self.forced))
        if word not in {"YES", "NO"}:
            # The forced tokens mean something else to this model.
            word, more = await self._word(ChatRequest(self.task, asked, _SHORT))
            usage += more
        answer = "YES" if word == "YES" else "NO"
        return word == "YES", (*asked, Message("assistant", answer)), usage

    async def _word(self, request: ChatRequest) -> tuple[str, Usage]:
        try:
            reply = await self.model.complete(request)
        except CallFailed as failure:
            raise UnusableReply(str(failure), request.messages[-1].content, "", Usage(calls=1)) from None
        reply.accept()
        word = _WORD.search(visible(reply.text))
        return (word[0].upper() if word else ""), reply.usage


def first_tokens(encoding: str | None) -> tuple[int, ...]:
    """Return the ids of the first tokens of YES and NO; nothing for an encoding that is not known."""
    if encoding is None or encoding not in ENCODINGS:
        return ()
    import tiktoken

    with vocabulary_at_hand(encoding):
        known = tiktoken.get_encoding(encoding)
    return tuple(known.encode_ordinary(word)[0] for word in ("YES", "NO"))


def encoding_of_model(name: str) -> str | None:
    """Return the encoding of a model by its name, None for a model whose tokens are not known."""
    import tiktoken

    try:
        return tiktoken.encoding_name_for_model(name)
    except KeyError:
        return None
