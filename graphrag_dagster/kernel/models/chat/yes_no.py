"""The one-token question whether anything is missing (paper §3.1.2)."""

import re
from contextlib import nullcontext

from graphrag_dagster.kernel.models.chat.chat_model import (
    CallFailed,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    Usage,
    collect_reused_replies,
)
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, visible_text
from graphrag_dagster.kernel.models.chat.structured_output import UnusableReply, UsableReply, ask
from graphrag_dagster.kernel.text.prompt_templates import Prompt

_WORD = re.compile(r"[^\W\d_]+")
#: First tokens of YES and NO by encoding; a whole vocabulary in memory for two words would cost 100 MB.
_YES_NO = {"cl100k_base": (14331, 9173), "o200k_base": (31958, 14695)}
#: Tokens of a reply that nothing forces to be short.
_SHORT = 16


async def yes_or_no(
    model: ChatModel, task: str, asked: tuple[Message, ...], retry: Prompt, forced: tuple[int, ...] = ()
) -> UsableReply[bool]:
    """Return whether the reply to a conversation that ends with a yes/no question is yes.

    Args:
        model: answers.
        task: of the request.
        asked: the conversation.
        retry: prompt with the placeholder ``reason``.
        forced: the first tokens of YES and NO; empty where the endpoint cannot force them: then the first
            word of a short reply counts, and any but YES is no.

    Raises:
        UnusableReply: no reply came that holds a word.
        EndpointError: the endpoint cannot be used at all.
    """
    request = ChatRequest(task, asked, 1, forced_tokens=forced)
    lost = Usage()
    if forced:
        try:
            reply = await model.complete(request)
        except CallFailed as failure:
            raise UnusableReply(str(failure), asked[-1].content, "", Usage(calls=1)) from None
        word = _WORD.search(visible_text(reply.text))
        if word and (found := word[0].upper()) in {"YES", "NO"}:
            model.remember(request, reply)
            return UsableReply(found == "YES", found, reply.usage, reply.usage)
        # The forced tokens may mean something else to this model.
        lost = reply.usage
    free = ChatRequest(task, asked, _SHORT)
    # What is asked for again is the forced word, where there is one.
    with collect_reused_replies() if forced else nullcontext():
        try:
            told = await ask(model, free, _first_word, retry, whole=False)
        except UnusableReply as failed:
            failed.usage += lost
            raise
    own = told.reply_usage
    if forced:
        model.remember(request, ChatReply(told.value, "stop", own.input_tokens, own.output_tokens))
    return UsableReply(told.value == "YES", told.value, lost + told.usage, own)


def _first_word(text: str) -> tuple[str, bool]:
    word = _WORD.search(text)
    if word is None:
        raise NotUsable("the reply holds no word")
    return word[0].upper(), False


def forced_tokens(model: str) -> tuple[int, ...]:
    """Return the first tokens of YES and NO of a model; nothing where its name tells no tokens."""
    import tiktoken

    try:
        encoding = tiktoken.encoding_name_for_model(model)
    except KeyError:
        return ()
    return _YES_NO.get(encoding, ())
