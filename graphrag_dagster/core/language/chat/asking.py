"""A usable reply or a reason: what fails is asked for again, each time in the way most likely to help.

The rungs, in this order: a reply is mended where it can be; the model is told what is wrong and asked again,
at most twice; it is asked afresh with a higher limit, since a reply that was cut off does not always say so.
What then fails is the caller's: a text may be split in two (:mod:`.gleaning`), anything else goes to
quarantine with prompt, reply and reason. A reply that lacks something and can be used all the same is used
where none came that lacks nothing; it is not remembered, so that the next run asks again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from graphrag_dagster.core.language.chat.port import (
    CallFailed,
    ChatModel,
    ChatReply,
    ChatRequest,
    Listener,
    Message,
    Refused,
)
from graphrag_dagster.core.language.chat.prompt import Prompt
from graphrag_dagster.core.language.chat.replies import Incomplete, NotUsable, read_typed, visible
from graphrag_dagster.core.language.tasks import Usage

T = TypeVar("T")
Schema = TypeVar("Schema", bound=BaseModel)

_WITHHELD = frozenset({"refusal", "content_filter"})
_TOLD = 2
#: A limit is doubled, and raised at least to this many tokens: hidden reasoning may use up a small one.
_ROOMY = 2000
_SHOWN = 1500
#: Characters of a reply for each token of its limit, and those that every reply may have.
_MOST_PER_TOKEN, _ALWAYS = 32, 100_000


class UnusableReply(Exception):
    """No usable reply came, however often it was asked for.

    ``prompt`` is the last user message of the first request, ``reply`` the last reply as it came, ``usage``
    that of all attempts. ``smaller_may_help``: the same asked about less text may succeed.
    """

    def __init__(
        self, reason: str, prompt: str, reply: str, usage: Usage, *, smaller_may_help: bool = True
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.prompt = prompt
        self.reply = reply
        self.usage = usage
        self.smaller_may_help = smaller_may_help


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """A reply that could be read. ``text`` is the reply without hidden reasoning and code fences.

    ``repaired``: it had to be mended, by which nothing was lost. ``usage`` is that of the first prompt and
    this reply, the same whether it was sent for or remembered; what failed attempts cost stands in the
    account of the run. ``note``: see :class:`~graphrag_dagster.core.language.chat.port.ChatReply`.
    ``lacking`` says what is missing in it, else None.
    """

    value: T
    text: str
    usage: Usage
    repaired: bool = False
    note: str | None = None
    lacking: str | None = None


async def ask(
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[str], tuple[T, bool]],
    retry: Prompt,
    *,
    whole: bool = True,
    listen: Listener | None = None,
) -> Asked[T]:
    """Ask until the reply can be read.

    Args:
        model: answers; what proves usable it is told to remember as the reply to ``request``.
        request: the first request.
        read: makes the value and whether it was mended of a visible reply; raises NotUsable, or Incomplete.
        retry: prompt with the placeholder ``reason``.
        whole: a reply that was cut off is not usable.
        listen: hears the text of every attempt as it comes.

    Raises:
        UnusableReply: no reply could be read, or a call failed.
        EndpointError: the endpoint cannot be used at all.
    """
    usage, prompt_tokens = Usage(), 0
    attempts = _Attempts[T](request, retry)
    for current in attempts:
        try:
            reply = await model.complete(current, listen)
        except CallFailed as failure:
            if attempts.partial:
                break
            raise _failed(failure, request, attempts, usage + Usage(calls=1)) from None
        usage += reply.usage
        # The same whether the model had to be told what was wrong: tables must not depend on that.
        prompt_tokens = prompt_tokens or reply.input_tokens
        kept = replace(reply, input_tokens=prompt_tokens)
        text = "" if _is_endless(reply, current.max_tokens) else visible(reply.text)
        try:
            _complete(reply, text, current.max_tokens, whole)
            value, repaired = read(text)
        except Incomplete as problem:
            attempts.failed(reply, text, str(problem))
            attempts.partial = attempts.partial or Asked(
                problem.value, text, kept.usage, note=kept.note, lacking=str(problem)
            )
        except NotUsable as problem:
            attempts.failed(reply, text, str(problem))
        else:
            model.remember(request, kept)
            return Asked(value, text, replace(kept.usage, repaired=int(repaired)), repaired, kept.note)
    if attempts.partial:
        return attempts.partial
    raise UnusableReply(attempts.reason, request.messages[-1].content, attempts.reply, usage)


async def ask_typed(
    model: ChatModel, request: ChatRequest, schema: type[Schema], retry: Prompt
) -> Asked[Schema]:
    """Ask for JSON of a shape; ``schema`` may be more tolerant than the one the request shows the endpoint.

    Raises:
        UnusableReply: see :func:`ask`.
        EndpointError: see :func:`ask`.
    """
    return await ask(model, request, lambda text: read_typed(text, schema), retry)


class _Attempts(Generic[T]):
    """The requests to make, one after the other, until one is answered well.

    ``partial`` is the first reply that lacks something and could be used all the same.
    """

    def __init__(self, request: ChatRequest, retry: Prompt) -> None:
        self._request = request
        self._retry = retry
        self._text = ""
        self._finish = ""
        self.reply = ""
        self.reason = ""
        self.partial: Asked[T] | None = None

    def failed(self, reply: ChatReply, text: str, reason: str) -> None:
        self._text, self._finish, self.reason = text, reply.finish_reason, reason
        longer = len(reply.text) - _ALWAYS
        self.reply = reply.text[:_ALWAYS] + (f" … ({longer:,} characters more)" if longer > 0 else "")

    def __iter__(self) -> Iterator[ChatRequest]:
        yield self._request
        for again in range(1, _TOLD + 1):
            # A refusal stays one, and a limit that hidden reasoning used up is not a matter of words.
            if self._finish in _WITHHELD:
                return
            if self._finish == "length" and not self._text:
                break
            yield replace(self._request, messages=self._told(), again=again)
        limit = max(2 * self._request.max_tokens, _ROOMY)
        yield replace(self._request, max_tokens=limit, again=_TOLD + 1)

    def _told(self) -> tuple[Message, ...]:
        # Served chat templates want the roles to alternate and no turn to be empty.
        shown = self._text if len(self._text) <= _SHOWN else self._text[:_SHOWN] + " …"
        return (
            *self._request.messages,
            Message("assistant", shown or "(no reply)"),
            Message("user", self._retry.render(reason=self.reason)),
        )


def _failed(failure: CallFailed, request: ChatRequest, attempts: _Attempts[T], usage: Usage) -> UnusableReply:
    """A refused repetition leaves the first failure as the reason: that is what is to be mended."""
    refused = isinstance(failure, Refused)
    reason = f"{attempts.reason}; asked again: {failure}" if attempts.reason else str(failure)
    return UnusableReply(
        reason, request.messages[-1].content, attempts.reply, usage, smaller_may_help=refused
    )


def _is_endless(reply: ChatReply, limit: int) -> bool:
    return len(reply.text) > max(_MOST_PER_TOKEN * limit, _ALWAYS)


def _complete(reply: ChatReply, text: str, limit: int, whole: bool) -> None:
    if _is_endless(reply, limit):
        raise NotUsable(f"the reply has {len(reply.text):,} characters, far more than {limit:,} tokens have")
    if reply.finish_reason == "length" and (whole or not text):
        raise NotUsable(f"the reply was cut off at its limit of {limit} tokens; be briefer")
    if reply.finish_reason in _WITHHELD:
        raise NotUsable(f"the model withheld its reply ({reply.finish_reason})")
    if not text:
        raise NotUsable("the reply is empty")
