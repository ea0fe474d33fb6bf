"""Gleaning: one conversation about a text, continued for what the first reply missed (paper §3.1.2).

``check_first`` is the paper's order: before each continuation the model is asked whether anything is
missing. ``continue_first`` is that of its code: continue, and ask only between two continuations, so that
one round asks nothing (spec_graphrag §3). ``unchecked`` never asks and makes all continuations.

A small model may go round in the entities of its first reply and never come to the relationships, which are
asked for on their own then, whatever the rounds.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Literal

from pydantic import BaseModel

from graphrag_dagster.kernel.models.chat.chat_model import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    Usage,
    collect_reused_replies,
)
from graphrag_dagster.kernel.models.chat.structured_output import CachedReply, UnusableReply, UsableReply, ask
from graphrag_dagster.kernel.models.chat.yes_no import YesNo
from graphrag_dagster.kernel.text.prompt_templates import Prompt
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.systems.graphrag.llm.extraction_records import RecordType
from graphrag_dagster.systems.graphrag.llm.prompt_examples import Copies
from graphrag_dagster.systems.graphrag.llm.record_parsing import RawReply


def split_in_halves(text: str) -> tuple[str, str] | None:
    """Return the two parts of a text, cut between the two sentences nearest to its middle.

    Together they hold every character but the white space at the cut. None for a single sentence.
    """
    spans = sentence_spans(text)
    if len(spans) < 2:
        return None
    middle = len(text) / 2
    before, after = min(pairwise(spans), key=lambda pair: abs(pair[0].end - middle))
    return text[: before.end], text[after.start :]


Order = Literal["check_first", "continue_first", "unchecked"]
Build = Callable[[str], ChatRequest]


@dataclass(slots=True)
class GleaningConversation:
    """The replies of one text, by round; ``lost`` is the reply that could not be used, ``lost_round`` its
    round. ``mended`` counts replies whose JSON had to be repaired. ``note`` says that the text had to be
    asked about in halves, and why; ``half`` that ``lost`` is one half of the first round.
    """

    replies: list[RawReply] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    mended: int = 0
    note: str | None = None
    lost: UnusableReply | None = None
    half: bool = False

    @property
    def lost_round(self) -> int:
        """The round of the lost reply, which follows those that came."""
        return 0 if self.half else len(self.replies)


@dataclass(frozen=True, slots=True)
class LastKind:
    """The kind of records that come last in a reply, and how they are asked for on their own.

    ``shape`` is that of the reply; None: delimited tuples.
    """

    kind: RecordType
    prompt: Prompt
    shape: type[BaseModel] | None

    def is_missing(self, asked: UsableReply[RawReply]) -> bool:
        """Whether a reply repeated itself before it came to such records."""
        return asked.repeated and all(record.kind != self.kind for record in asked.value.records)


@dataclass(frozen=True, slots=True)
class Gleaner:
    """Leads such conversations.

    ``read`` makes records of a visible reply; its second argument tells whether the turn is a gleaning.
    ``join`` makes one reply of two so that ``read`` reads the records of both. ``last``: what is asked for on
    its own where a first reply does not come to it; None: nothing.
    """

    model: ChatModel
    read: Callable[[str, bool], tuple[RawReply, bool]]
    join: Callable[[str, str], str]
    copies: Copies
    retry: Prompt
    more: Prompt
    check: YesNo
    rounds: int
    order: Order
    last: LastKind | None = None

    async def run(self, text: str, build: Build) -> GleaningConversation:
        """Return all that came of the first request about a text and its continuations.

        Where the whole text gets no usable reply, its two halves are asked about, parted at a sentence; where
        a reply is cut off, beside asking about the whole with a higher limit, and what comes first counts.
        Their replies make one, which is cached as the reply to the whole.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        talk = GleaningConversation()
        try:
            messages = await self._first(talk, text, build)
            for round_ in range(1, self.rounds + 1):
                if self.order != "unchecked" and (self.order == "check_first" or round_ > 1):
                    missing, messages, usage = await self.check.ask(messages)
                    talk.usage += usage
                    if not missing:
                        break
                messages = await self._continue(talk, text, build(text), messages, self.more)
        except UnusableReply as lost:
            talk.usage += lost.usage
            talk.lost = lost
        return talk

    async def _first(self, talk: GleaningConversation, text: str, build: Build) -> tuple[Message, ...]:
        request = build(text)
        try:
            asked = await self._ask(request, text, alternative=partial(self._ask_in_halves, text, build))
        except _OneHalfLost as lost:
            talk.half = True
            talk.replies.append(lost.kept.value)
            talk.usage += lost.kept.reply_usage
            raise
        talk.note = asked.note
        messages = _accepted_messages(talk, request.messages, asked)
        if self.last and self.last.is_missing(asked):
            talk.note = f"{asked.note}; its {self.last.kind}s were asked for on their own"
            request = replace(request, schema=self.last.shape)
            messages = await self._continue(talk, text, request, messages, self.last.prompt)
            # Where the endpoint keeps to no schema, it may go round in the same records again.
            given = {record.raw for record in asked.value.records}
            told = [record for record in talk.replies[-1].records if record.raw not in given]
            talk.replies[-1] = replace(talk.replies[-1], records=told)
        return messages

    async def _continue(
        self,
        talk: GleaningConversation,
        text: str,
        request: ChatRequest,
        messages: tuple[Message, ...],
        prompt: Prompt,
    ) -> tuple[Message, ...]:
        following = (*messages, Message("user", prompt.render()))
        # Before texts that are not begun: were all continuations left for the end, one that runs on would
        # keep the stage waiting; and the endpoint still has what it read of this text.
        more = replace(request, messages=following, urgent=True, continues=True)
        asked = await self._ask(more, text, gleaning=True)
        return _accepted_messages(talk, following, asked)

    async def _ask_in_halves(self, text: str, build: Build, reason: str) -> CachedReply[RawReply]:
        parts = split_in_halves(text)
        if parts is None:
            raise UnusableReply(reason, text, "", Usage())
        asking = (self._ask(replace(build(part), urgent=True), text) for part in parts)
        # The reply to the whole is made of them, and is what is asked for again.
        with collect_reused_replies():
            replies = await asyncio.gather(*asking, return_exceptions=True)
        came = [one for one in replies if isinstance(one, UsableReply)]
        for error in (one for one in replies if isinstance(one, BaseException)):
            raise _OneHalfLost(error, came[0]) if came and isinstance(error, UnusableReply) else error
        usage = came[0].reply_usage + came[1].reply_usage
        joined = self.join(came[0].text, came[1].text)
        note = f"asked about in halves: {reason}"
        value, repaired = self._read(joined, text, gleaning=False)
        return CachedReply(
            UsableReply(
                value, joined, came[0].usage + came[1].usage, replace(usage, calls=1), repaired, note
            ),
            ChatReply(joined, "stop", usage.input_tokens, usage.output_tokens, note),
        )

    async def _ask(
        self,
        request: ChatRequest,
        text: str,
        *,
        gleaning: bool = False,
        alternative: Callable[[str], Awaitable[CachedReply[RawReply]]] | None = None,
    ) -> UsableReply[RawReply]:
        def read(reply: str) -> tuple[RawReply, bool]:
            return self._read(reply, text, gleaning)

        return await ask(self.model, request, read, self.retry, alternative=alternative)

    def _read(self, reply: str, text: str, gleaning: bool) -> tuple[RawReply, bool]:
        value, repaired = self.read(reply, gleaning)
        return self.copies.quarantine(value, text), repaired


class _OneHalfLost(UnusableReply):
    """One half of a text got no usable reply; ``kept`` is that to the other."""

    partly = True

    def __init__(self, lost: UnusableReply, kept: UsableReply[RawReply]) -> None:
        super().__init__(lost.reason, lost.prompt, lost.reply, lost.usage)
        self.kept = kept


def _accepted_messages(
    talk: GleaningConversation, messages: tuple[Message, ...], asked: UsableReply[RawReply]
) -> tuple[Message, ...]:
    talk.replies.append(asked.value)
    talk.usage += asked.reply_usage
    talk.mended += asked.repaired
    return (*messages, Message("assistant", asked.text))
