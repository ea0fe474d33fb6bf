"""One conversation about one text: the first reply, and continuations for what it missed (paper §3.1.2).

``check_first`` is the paper's order: before each continuation the model is asked whether anything is
missing. ``continue_first`` is that of its code: continue, and ask only between two continuations, so that
one round asks nothing (spec_graphrag §3).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from graphrag_dagster.core.language.llm.chat import ChatModel, ChatRequest, Message
from graphrag_dagster.core.language.llm.prompts_port import Prompt
from graphrag_dagster.core.language.llm.raw_records import RawReply
from graphrag_dagster.core.language.llm.replies import UnusableReply, ask
from graphrag_dagster.core.language.llm.yes_no import YesNo
from graphrag_dagster.core.language.tasks import Usage

Order = Literal["check_first", "continue_first"]


@dataclass(slots=True)
class Conversation:
    """The replies of one text, by round; ``lost`` is the reply that could not be used, ``lost_round`` its
    round. ``mended`` counts replies whose JSON had to be mended.
    """

    replies: list[RawReply] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    mended: int = 0
    lost: UnusableReply | None = None

    @property
    def lost_round(self) -> int:
        """The round of the lost reply, which follows those that came."""
        return len(self.replies)


@dataclass(frozen=True, slots=True)
class Gleaner:
    """Leads such conversations.

    ``read`` makes records of a visible reply; its second argument tells whether the turn is a gleaning.
    """

    model: ChatModel
    read: Callable[[str, bool], tuple[RawReply, bool]]
    retry: Prompt
    more: Prompt
    check: YesNo
    rounds: int
    order: Order

    async def run(self, request: ChatRequest) -> Conversation:
        """Return all that came of the first request and its continuations.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        talk = Conversation()
        try:
            messages = await self._turn(talk, request)
            for round_ in range(1, self.rounds + 1):
                if self.order == "check_first" or round_ > 1:
                    missing, messages, usage = await self.check.ask(messages)
                    talk.usage += usage
                    if not missing:
                        break
                following = (*messages, Message("user", self.more.render()))
                messages = await self._turn(talk, replace(request, messages=following))
        except UnusableReply as lost:
            talk.usage += lost.usage
            talk.lost = lost
        return talk

    async def _turn(self, talk: Conversation, request: ChatRequest) -> tuple[Message, ...]:
        gleaning = bool(talk.replies)
        asked = await ask(self.model, request, lambda text: self.read(text, gleaning), self.retry)
        talk.replies.append(asked.value)
        talk.usage += asked.usage
        talk.mended += asked.repaired
        return (*request.messages, Message("assistant", asked.text))
