"""Asks a chat model for a reply of a given shape, with retries, for many items at once.

What then fails is the caller's: a text may be split in two, where a reply that was cut off is not waited
for; anything else goes to quarantine with prompt, reply and reason. A reply that lacks something and can be
used all the same is used where none came that lacks nothing; it is not cached, so that the next run asks
again.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from graphrag_dagster.kernel.models.chat.chat_model import (
    CallFailed,
    ChatModel,
    ChatReply,
    ChatRequest,
    Items,
    Listener,
    Message,
    Refused,
    Usage,
)
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
from graphrag_dagster.kernel.models.chat.hidden_reasoning import ShownReply, split
from graphrag_dagster.kernel.models.chat.repeating_replies import before_repetition
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    CutOff,
    Incomplete,
    NotUsable,
    read_typed,
    visible_text,
)
from graphrag_dagster.kernel.models.chat.retry_policy import (
    ALWAYS_SHOWN,
    ATTEMPTS,
    REPETITION,
    WITHHELD,
    FailedAttempt,
    check_complete,
    is_endless,
    next_request,
    raised_limit,
)
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import Prompt

T = TypeVar("T")


_REPEATED = "the reply repeated itself; what came before is used"

#: Models whose replies held reasoning of which only the end was marked: what they say is not shown at once.
_reason_unmarked: set[str] = set()

Schema = TypeVar("Schema", bound=BaseModel)


class UnusableReply(Exception):
    """No usable reply came, however often it was asked for.

    ``prompt`` is the last user message of the first request, ``reply`` the last reply as it came, ``usage``
    that of all attempts. ``smaller_may_help``: the same asked about less may succeed. ``too_long``: what
    was asked about is too long, since a reply was cut off, or the request refused.
    """

    def __init__(
        self,
        reason: str,
        prompt: str,
        reply: str,
        usage: Usage,
        *,
        smaller_may_help: bool = True,
        too_long: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.prompt = prompt
        self.reply = reply
        self.usage = usage
        self.smaller_may_help = smaller_may_help
        self.too_long = too_long


@dataclass(frozen=True, slots=True)
class UsableReply(Generic[T]):
    """A reply that could be read. ``text`` is the reply without hidden reasoning and code fences.

    ``repaired``: it had to be repaired, by which nothing was lost. ``usage`` is that of all attempts,
    ``reply_usage`` that of the first prompt and this reply: the same whether it was sent for or cached, as
    tables of an index need it. ``note``: see :class:`.ChatReply`. ``lacking`` says what is missing in it,
    else None.
    """

    value: T
    text: str
    usage: Usage
    reply_usage: Usage
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
    has_alternative: bool = False,
) -> UsableReply[T]:
    """Ask until the reply can be read.

    Args:
        model: answers; what proves usable it is told to remember as the reply to ``request``.
        request: the first request.
        read: makes the value and whether it was repaired of a visible reply; raises NotUsable, or Incomplete.
        retry: prompt with the placeholder ``reason``.
        whole: a reply that was cut off is not usable.
        listen: hears the text of every attempt as it comes, without reasoning.
        has_alternative: the caller asks otherwise, such as about less, where a reply is too long: after one
            that is cut off with a higher limit too, or repeats itself, no other attempt comes.

    Raises:
        UnusableReply: no reply could be read, or a call failed.
        EndpointError: the endpoint cannot be used at all.
    """
    attempts = _Attempts(model, request, read, retry, whole=whole, listen=listen)
    return await attempts.run(has_alternative=has_alternative)


async def ask_typed(
    model: ChatModel, request: ChatRequest, schema: type[Schema], retry: Prompt
) -> UsableReply[Schema]:
    """Ask for JSON of a shape; ``schema`` may be more tolerant than the one the request shows the endpoint.

    Raises:
        UnusableReply: see :func:`ask`.
        EndpointError: see :func:`ask`.
    """
    return await ask(model, request, lambda text: read_typed(text, schema), retry)


class _Attempts(Generic[T]):
    """The attempts at one request, one after the other, until one is answered well."""

    def __init__(
        self,
        model: ChatModel,
        request: ChatRequest,
        read: Callable[[str], tuple[T, bool]],
        retry: Prompt,
        *,
        whole: bool,
        listen: Listener | None,
    ) -> None:
        self._model, self._request, self._read, self._retry = model, request, read, retry
        self._whole, self._listen = whole, listen
        self._partial: UsableReply[T] | None = None
        self._failed: FailedAttempt | None = None
        self._limit = request.max_tokens
        self._was_cut = False
        self._usage, self._prompt_tokens = Usage(), 0
        self._cut_off = False

    async def run(self, *, has_alternative: bool) -> UsableReply[T]:
        """Return the first usable reply; see :func:`ask`."""
        for sent in range(ATTEMPTS + 1):
            current = self._next_request(sent, has_alternative=has_alternative)
            if current is None:
                break
            shown = self._streamed_reply()
            try:
                reply = await self._model.complete(current, shown)
            except CallFailed as failure:
                self._usage += Usage(calls=1)
                if isinstance(failure, Refused) and self._falls_back(current):
                    continue
                if self._partial:
                    break
                raise self._failure(failure) from None
            if (found := self._read_reply(current, reply)) is not None:
                if shown:
                    shown.end(found.text)
                return found
        if self._partial:
            return replace(self._partial, usage=self._usage)
        raise self._unusable()

    def _next_request(self, sent: int, *, has_alternative: bool) -> ChatRequest | None:
        """The request of an attempt; None where none is likely to be answered better than the last."""
        first, failed = self._request, self._failed
        if failed is None:
            return first
        finish = failed.reply.finish_reason
        # What repeats itself, or is cut off with more room too, is not likely to end.
        endless = finish == REPETITION or (failed.cut and self._limit > first.max_tokens)
        if finish in WITHHELD or (endless and (has_alternative or not failed.text)):
            return None
        # To ask with more room, after a reply that was cut off, was no attempt at another.
        if sent == ATTEMPTS and (failed.cut or not self._was_cut):
            return None
        if failed.cut or sent >= ATTEMPTS - 1:
            self._limit = raised_limit(first)
        self._was_cut = self._was_cut or failed.cut
        return next_request(first, self._retry, failed, sent, self._limit)

    def _falls_back(self, refused: ChatRequest) -> bool:
        """Go back to the first limit where a request was refused for a higher one; False: it was not."""
        if self._failed is None or refused.max_tokens == self._request.max_tokens:
            return False
        self._limit = self._request.max_tokens
        self._failed = replace(self._failed, reply=replace(self._failed.reply, finish_reason="stop"))
        return True

    def _streamed_reply(self) -> ShownReply | None:
        if self._listen is None:
            return None
        return ShownReply(self._listen, reasons=self._model.name in _reason_unmarked)

    def _read_reply(self, current: ChatRequest, reply: ChatReply) -> UsableReply[T] | None:
        self._usage += reply.usage
        # The same whether the model had to be told what was wrong: tables must not depend on that.
        self._prompt_tokens = self._prompt_tokens or reply.input_tokens
        kept = replace(reply, input_tokens=self._prompt_tokens)
        text = "" if is_endless(reply, current.max_tokens) else visible_text(reply.text)
        if self._listen and split(reply.text).unopened:
            _reason_unmarked.add(self._model.name)
        if (before := self._read_before_repetition(kept, text)) is not None:
            return before
        try:
            check_complete(reply, text, current.max_tokens, self._whole)
            value, repaired = self._read(text)
        except Incomplete as problem:
            self._failed = FailedAttempt(reply, text, str(problem))
            self._partial = self._partial or UsableReply(
                problem.value, text, self._usage, kept.usage, note=kept.note, lacking=str(problem)
            )
        except NotUsable as problem:
            self._cut_off = self._cut_off or isinstance(problem, CutOff)
            self._failed = FailedAttempt(reply, text, str(problem))
        else:
            return self._usable(value, text, kept, kept.note, repaired=repaired)
        return None

    def _usable(
        self, value: T, text: str, reply: ChatReply, note: str | None, *, repaired: bool
    ) -> UsableReply[T]:
        self._model.remember(self._request, reply)
        every, own = (replace(one, repaired=int(repaired)) for one in (self._usage, reply.usage))
        return UsableReply(value, text, every, own, repaired, note)

    def _read_before_repetition(self, reply: ChatReply, text: str) -> UsableReply[T] | None:
        """Use the records of a cut-off reply that came before it began to repeat itself."""
        if reply.finish_reason not in {"length", REPETITION} or (begun := before_repetition(text)) is None:
            return None
        try:
            value, _ = self._read(begun)
        except NotUsable:
            return None
        return self._usable(value, begun, reply, _REPEATED, repaired=True)

    def _failure(self, failure: CallFailed) -> UnusableReply:
        """A refused repetition leaves the first failure as the reason: that is what is to be repaired."""
        told = f"{self._failed.reason}; asked again: {failure}" if self._failed else str(failure)
        refused = isinstance(failure, Refused)
        return self._unusable(told, smaller_may_help=refused, too_long=refused)

    def _unusable(
        self, reason: str = "", *, smaller_may_help: bool = True, too_long: bool | None = None
    ) -> UnusableReply:
        text = self._failed.reply.text if self._failed else ""
        longer = len(text) - ALWAYS_SHOWN
        return UnusableReply(
            reason or (self._failed.reason if self._failed else ""),
            self._request.messages[-1].content,
            text[:ALWAYS_SHOWN] + (f" … ({longer:,} characters more)" if longer > 0 else ""),
            self._usage,
            smaller_may_help=smaller_may_help,
            too_long=self._cut_off if too_long is None else too_long,
        )


R = TypeVar("R")


class Asker:
    """Asks a model.

    Args:
        model: answers.
        max_tokens: longest reply.
    """

    engine: str = "llm"

    def __init__(self, model: ChatModel, max_tokens: int) -> None:
        self._model = model
        self._retry = prompts.load("retry")
        self._max_tokens = max_tokens

    def _task_request(
        self, task: str, system: str, user: str, shape: type[BaseModel] | None, least: int = 0
    ) -> ChatRequest:
        """The request of a task; ``least`` is a length that its reply may have whatever the limit."""
        messages = (Message("system", system), Message("user", user))
        return ChatRequest(task, messages, max(self._max_tokens, least), shape)

    async def _items(
        self, request: ChatRequest, read: Callable[[str], tuple[tuple[T, ...], bool]]
    ) -> Items[T]:
        """Items that a reply lists; nothing if none is usable."""
        try:
            asked = await ask(self._model, request, read, self._retry)
        except UnusableReply as lost:
            return Items((), lost.reason, lost.usage)
        return Items(asked.value, usage=asked.usage)

    def _gather(self, work: Callable[[T], Coroutine[Any, Any, R]], items: Sequence[T], stage: str) -> list[R]:
        """The results of a coroutine for every item, in the order of the items."""
        calls = self._model.concurrency
        return list(run_in_order(work, items, name=stage, total=len(items), calls=calls))
