"""Gleaning: one conversation about a text, continued for what the first reply missed (paper §3.1.2).

``check_first`` is the paper's order: before each continuation the model is asked whether anything is
missing. ``continue_first`` is that of its code: continue, and ask only between two continuations, so that
one round asks nothing (paper A.2). ``unchecked`` never asks and makes all continuations.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from graphrag_dagster.kernel.models.chat.chat_model import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    Usage,
    collect_reused_replies,
)
from graphrag_dagster.kernel.models.chat.structured_output import UnusableReply, UsableReply, ask
from graphrag_dagster.kernel.models.chat.yes_no import YesNo
from graphrag_dagster.kernel.text.prompt_templates import Prompt
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
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
    round; ``half``: it is that to one half of the text. ``mended`` counts replies whose JSON had to be
    repaired. ``note`` says that the text had to be asked about in halves, and why.
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
class Gleaner:
    """Leads such conversations.

    ``read`` makes records of a visible reply; its second argument tells whether the turn is a gleaning.
    ``join`` makes one reply of two so that ``read`` reads the records of both.
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

    async def run(self, text: str, build: Build) -> GleaningConversation:
        """Return all that came of the first request about a text and its continuations.

        Where the whole text gets no usable reply, since it is too long for one, its two halves are asked
        about, parted at a sentence. Their replies make one, which is cached as the reply to the whole.

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
                messages = await self._continue(talk, text, build(text), messages)
        except UnusableReply as lost:
            talk.usage += lost.usage
            talk.lost = lost
        return talk

    async def _first(self, talk: GleaningConversation, text: str, build: Build) -> tuple[Message, ...]:
        request, parts = build(text), split_in_halves(text)
        try:
            asked = await self._ask(request, text, has_alternative=parts is not None)
        except UnusableReply as failed:
            if parts is None or not failed.too_long:
                raise
            asked = await self._ask_in_halves(talk, text, parts, build, failed)
        talk.note = asked.note
        messages = _accepted_messages(talk, request.messages, asked)
        if talk.lost:
            talk.half = True
            raise talk.lost
        return messages

    async def _continue(
        self,
        talk: GleaningConversation,
        text: str,
        request: ChatRequest,
        messages: tuple[Message, ...],
    ) -> tuple[Message, ...]:
        following = (*messages, Message("user", self.more.render()))
        # Before texts that are not begun: were all continuations left for the end, one that runs on would
        # keep the stage waiting; and the endpoint still has what it read of this text.
        more = replace(request, messages=following, urgent=True)
        asked = await self._ask(more, text, gleaning=True)
        return _accepted_messages(talk, following, asked)

    async def _ask_in_halves(
        self,
        talk: GleaningConversation,
        text: str,
        parts: tuple[str, str],
        build: Build,
        failed: UnusableReply,
    ) -> UsableReply[RawReply]:
        asking = (self._ask(replace(build(part), urgent=True), text) for part in parts)
        # The reply to the whole is made of them, and is what is asked for again.
        with collect_reused_replies():
            replies = await asyncio.gather(*asking, return_exceptions=True)
        # Both are waited for: what one costs is paid whatever becomes of the other.
        came = [one for one in replies if isinstance(one, UsableReply)]
        for error in (one for one in replies if isinstance(one, BaseException)):
            if not isinstance(error, UnusableReply):
                raise error
            talk.lost = error
        if talk.lost:
            if not came:
                raise failed
            # Not cached: the next run asks for the whole again.
            return came[0]
        usage = came[0].reply_usage + came[1].reply_usage
        joined = self.join(came[0].text, came[1].text)
        note = f"asked about in halves: {failed.reason}"
        value, repaired = self._read(joined, text, gleaning=False)
        self.model.remember(
            build(text), ChatReply(joined, "stop", usage.input_tokens, usage.output_tokens, note)
        )
        return UsableReply(
            value, joined, came[0].usage + came[1].usage, replace(usage, calls=1), repaired, note
        )

    async def _ask(
        self,
        request: ChatRequest,
        text: str,
        *,
        gleaning: bool = False,
        has_alternative: bool = False,
    ) -> UsableReply[RawReply]:
        def read(reply: str) -> tuple[RawReply, bool]:
            return self._read(reply, text, gleaning)

        return await ask(self.model, request, read, self.retry, has_alternative=has_alternative)

    def _read(self, reply: str, text: str, gleaning: bool) -> tuple[RawReply, bool]:
        value, repaired = self.read(reply, gleaning)
        return self.copies.quarantine(value, text), repaired


def _accepted_messages(
    talk: GleaningConversation, messages: tuple[Message, ...], asked: UsableReply[RawReply]
) -> tuple[Message, ...]:
    talk.replies.append(asked.value)
    talk.usage += asked.reply_usage
    talk.mended += asked.repaired
    return (*messages, Message("assistant", asked.text))
