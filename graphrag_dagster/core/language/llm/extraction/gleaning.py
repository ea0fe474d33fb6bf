"""One conversation about one text: the first reply, and continuations for what it missed (paper §3.1.2).

``check_first`` is the paper's order: before each continuation the model is asked whether anything is
missing. ``continue_first`` is that of its code: continue, and ask only between two continuations, so that
one round asks nothing (spec_graphrag §3). ``unchecked`` never asks and makes all continuations.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from graphrag_dagster.core.language.chat.asking import Asked, UnusableReply, ask
from graphrag_dagster.core.language.chat.halves import halves
from graphrag_dagster.core.language.chat.port import ChatModel, ChatReply, ChatRequest, Message
from graphrag_dagster.core.language.chat.prompt import Prompt
from graphrag_dagster.core.language.chat.yes_no import YesNo
from graphrag_dagster.core.language.llm.extraction.copies import Copies
from graphrag_dagster.core.language.llm.extraction.raw_records import RawReply
from graphrag_dagster.core.language.tasks import Usage

Order = Literal["check_first", "continue_first", "unchecked"]
Build = Callable[[str], ChatRequest]


@dataclass(slots=True)
class Conversation:
    """The replies of one text, by round; ``lost`` is the reply that could not be used, ``lost_round`` its
    round. ``mended`` counts replies whose JSON had to be mended. ``note`` says that the text had to be asked
    about in halves, and why; ``half`` that ``lost`` is one half of the first round.
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

    async def run(self, text: str, build: Build) -> Conversation:
        """Return all that came of the first request about a text and its continuations.

        Where the whole text gets no usable reply, its two halves are asked about, parted at a sentence; their
        replies make one, which is remembered as the reply to the whole.

        Args:
            text: what is asked about.
            build: makes the first request about a text.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        talk = Conversation()
        try:
            messages = await self._first(talk, text, build)
            for round_ in range(1, self.rounds + 1):
                if self.order != "unchecked" and (self.order == "check_first" or round_ > 1):
                    missing, messages, usage = await self.check.ask(messages)
                    talk.usage += usage
                    if not missing:
                        break
                following = (*messages, Message("user", self.more.render()))
                asked = await self._ask(replace(build(text), messages=following), text, gleaning=True)
                messages = _taken(talk, following, asked)
        except UnusableReply as lost:
            talk.usage += lost.usage
            talk.lost = lost
        return talk

    async def _first(self, talk: Conversation, text: str, build: Build) -> tuple[Message, ...]:
        request = build(text)
        try:
            asked = await self._ask(request, text)
        except UnusableReply as failed:
            asked = await self._in_halves(talk, request, text, build, failed)
        talk.note = asked.note
        return _taken(talk, request.messages, asked)

    async def _in_halves(
        self, talk: Conversation, request: ChatRequest, text: str, build: Build, failed: UnusableReply
    ) -> Asked[RawReply]:
        parts = halves(text) if failed.smaller_may_help else None
        if parts is None:
            raise failed
        came: list[Asked[RawReply]] = []
        lost: UnusableReply | None = None
        for part in parts:
            try:
                came.append(await self._ask(build(part), text))
            except UnusableReply as lost_half:
                lost = lost_half
        if not came:
            raise failed
        if lost:
            talk.half = True
            talk.replies.append(came[0].value)
            talk.usage += came[0].usage
            raise lost
        usage = came[0].usage + came[1].usage
        joined = self.join(came[0].text, came[1].text)
        note = f"asked about in halves: {failed.reason}"
        self.model.remember(request, ChatReply(joined, "stop", usage.input_tokens, usage.output_tokens, note))
        value, repaired = self._read(joined, text, gleaning=False)
        return Asked(value, joined, replace(usage, calls=1), repaired, note)

    async def _ask(self, request: ChatRequest, text: str, *, gleaning: bool = False) -> Asked[RawReply]:
        return await ask(self.model, request, lambda reply: self._read(reply, text, gleaning), self.retry)

    def _read(self, reply: str, text: str, gleaning: bool) -> tuple[RawReply, bool]:
        value, repaired = self.read(reply, gleaning)
        return self.copies.put_aside(value, text), repaired


def _taken(talk: Conversation, messages: tuple[Message, ...], asked: Asked[RawReply]) -> tuple[Message, ...]:
    talk.replies.append(asked.value)
    talk.usage += asked.usage
    talk.mended += asked.repaired
    return (*messages, Message("assistant", asked.text))
