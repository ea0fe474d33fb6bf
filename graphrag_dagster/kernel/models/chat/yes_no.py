"""The one-token question whether anything is missing (paper §3.1.2)."""

import re
from contextlib import nullcontext
from dataclasses import dataclass

from graphrag_dagster.kernel.models.chat.chat_model import (
    CallFailed,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    collect_reused_replies,
)
from graphrag_dagster.kernel.models.chat.prompt_templates import Prompt
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, visible_text
from graphrag_dagster.kernel.models.chat.structured_output import UnusableReply, ask
from graphrag_dagster.kernel.tasks.task_ports import Usage

_WORD = re.compile(r"[^\W\d_]+")
#: First tokens of YES and NO by encoding; a whole vocabulary in memory for two words would cost 100 MB.
_YES_NO = {"cl100k_base": (14331, 9173), "o200k_base": (31958, 14695)}
#: Tokens of a reply that nothing forces to be short.
_SHORT = 16


@dataclass(frozen=True, slots=True)
class YesNo:
    """Asks a yes/no question at the end of a conversation; any word but YES is no.

    ``forced`` are the first tokens of YES and NO; empty where the endpoint cannot force them, then the first
    word of a short reply counts.
    """

    model: ChatModel
    task: str
    prompt: Prompt
    retry: Prompt
    forced: tuple[int, ...] = ()

    async def ask(self, messages: tuple[Message, ...]) -> tuple[bool, tuple[Message, ...], Usage]:
        """Return whether the reply is yes, the conversation with question and reply, and the cost.

        Raises:
            UnusableReply: no reply came that holds a word.
            EndpointError: the endpoint cannot be used at all.
        """
        asked = (*messages, Message("user", self.prompt.render()))
        yes, usage = await yes_or_no(self.model, self.task, asked, self.retry, self.forced)
        return yes, (*asked, Message("assistant", "YES" if yes else "NO")), usage


async def yes_or_no(
    model: ChatModel, task: str, asked: tuple[Message, ...], retry: Prompt, forced: tuple[int, ...] = ()
) -> tuple[bool, Usage]:
    """Return whether the reply to a conversation that ends with a yes/no question is yes, and the cost.

    Args:
        model: answers.
        task: of the request.
        asked: the conversation.
        retry: prompt with the placeholder ``reason``.
        forced: as those of :class:`YesNo`.

    Raises:
        UnusableReply: no reply came that holds a word.
        EndpointError: the endpoint cannot be used at all.
    """
    request = ChatRequest(task, asked, 1, forced_tokens=forced)
    word, usage = await _forced_word(model, request) if forced else ("", Usage())
    if not word:
        free = ChatRequest(task, asked, _SHORT)
        # What is asked for again is the forced word, where there is one.
        with collect_reused_replies() if forced else nullcontext():
            told = await ask(model, free, _first_word, retry, whole=False)
        word, usage = told.value, told.usage
        if forced:
            reply = ChatReply(word, "stop", told.usage.input_tokens, told.usage.output_tokens)
            model.remember(request, reply)
    return word == "YES", usage


async def _forced_word(model: ChatModel, request: ChatRequest) -> tuple[str, Usage]:
    """The word if it is one of the two; the forced tokens may mean something else to this model."""
    try:
        reply = await model.complete(request)
    except CallFailed as failure:
        raise UnusableReply(str(failure), request.messages[-1].content, "", Usage(calls=1)) from None
    word = _WORD.search(visible_text(reply.text))
    if word is None or (found := word[0].upper()) not in {"YES", "NO"}:
        return "", Usage()
    model.remember(request, reply)
    return found, reply.usage


def _first_word(text: str) -> tuple[str, bool]:
    word = _WORD.search(text)
    if word is None:
        raise NotUsable("the reply holds no word")
    return word[0].upper(), False


def first_tokens(encoding: str | None) -> tuple[int, ...]:
    """Return the ids of the first tokens of YES and NO; nothing for an encoding that is not known."""
    return _YES_NO.get(encoding or "", ())


def encoding_of_model(name: str) -> str | None:
    """Return the encoding of a model by its name, None for a model whose tokens are not known."""
    import tiktoken

    try:
        return tiktoken.encoding_name_for_model(name)
    except KeyError:
        return None
