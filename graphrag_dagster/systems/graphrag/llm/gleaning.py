"""Gleaning: one conversation about a text, continued for what the first reply missed (paper §3.1.2).

``check_first`` is the paper's order: before each continuation the model is asked whether anything is
missing. ``continue_first`` is that of its code: continue, and ask only between two continuations, so that
one round asks nothing (paper A.2). ``unchecked`` never asks and makes all continuations.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, TypedDict, Unpack

from pydantic import BaseModel

from graphrag_dagster.kernel.models.chat.chat_model import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    Usage,
    collect_reused_replies,
)
from graphrag_dagster.kernel.models.chat.structured_output import (
    Asker,
    UnusableReply,
    UsableReply,
    ask,
)
from graphrag_dagster.kernel.models.chat.yes_no import forced_tokens, yes_or_no
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.systems.graphrag.llm.extraction_records import RecordType
from graphrag_dagster.systems.graphrag.llm.prompt_examples import Copies, ShownExample, with_examples
from graphrag_dagster.systems.graphrag.llm.record_parsing import (
    RawReply,
    join_json_replies,
    join_tuple_replies,
    read_json_records,
    read_tuple_records,
)


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
Replies = Literal["json_schema", "tuples"]
Build = Callable[[str], ChatRequest]

#: A limit is so many times the expected length of a reply, but at most so many times the usual limit.
_ROOM = 2


class Options(TypedDict, total=False):
    """How a model is asked.

    Attributes:
        gleaning_rounds: most continuations per unit; default 1.
        gleaning_order: of checking and continuing; default ``check_first``.
        replies: JSON by schema, which is the default, or the paper's delimited tuples.
        logit_bias: the endpoint can force tokens, which is the default; none of an encoding that is not
            known by the model's name is forced.
        max_output_tokens: longest reply; default 4000.
    """

    gleaning_rounds: int
    gleaning_order: Order
    replies: Replies
    logit_bias: bool
    max_output_tokens: int


@dataclass(slots=True)
class GleaningConversation:
    """The replies of one text, by round; ``lost`` is the reply that could not be used, ``lost_round`` its
    round; ``half``: it is that to one half of the text. ``repaired`` counts replies whose JSON had to be
    repaired. ``note`` says that the text had to be asked about in halves, and why.
    """

    replies: list[RawReply] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    repaired: int = 0
    note: str | None = None
    lost: UnusableReply | None = None
    half: bool = False

    @property
    def lost_round(self) -> int:
        """The round of the lost reply, which follows those that came."""
        return 0 if self.half else len(self.replies)

    def accept(self, messages: tuple[Message, ...], asked: UsableReply[RawReply]) -> tuple[Message, ...]:
        """Take the reply to some messages, and return the conversation that ends with it."""
        self.replies.append(asked.value)
        self.usage += asked.reply_usage
        self.repaired += asked.repaired
        return (*messages, Message("assistant", asked.text))


class GleaningAsker(Asker):
    """Asks a model for records of texts, in a conversation about each.

    Attributes:
        kinds: of records that are asked for.
        task: of the first request; its prompts are ``<task>[_labelled][_tuples]_system`` and ``<task>_user``.
        turns: begins the names of the prompts that ask whether anything is missing, and for it:
            ``<turns>_check`` and ``<turns>_continue``.
    """

    kinds: tuple[RecordType, ...]
    task: str
    turns: str

    def __init__(
        self,
        model: ChatModel,
        shape: type[BaseModel],
        examples: Sequence[ShownExample],
        *,
        labelled: bool = False,
        system_values: dict[str, str] | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(model, options.get("max_output_tokens", 4000))
        self._tuples, self._labelled = options.get("replies") == "tuples", labelled
        self._schema = None if self._tuples else shape
        own = prompts.load(f"{self.task}{'_labelled' * labelled}{'_tuples' * self._tuples}_system")
        self._system = with_examples(own.render(**system_values or {}), examples, tuples=self._tuples)
        self._user = prompts.load(f"{self.task}_user")
        self._copies = Copies.of(self._system, examples)
        self._more = prompts.load(f"{self.turns}_continue").render()
        self._check = prompts.load(f"{self.turns}_check").render()
        self._forced = forced_tokens(model.name) if options.get("logit_bias", True) else ()
        self._rounds = options.get("gleaning_rounds", 1)
        self._order = options.get("gleaning_order", "check_first")

    def expected_tokens(self, text: str) -> int:  # noqa: ARG002 - some know it by the text.
        """Return the tokens of the first reply about a text that are to be expected; 0: nobody knows."""
        return 0

    def _request(self, text: str, **values: str) -> ChatRequest:
        messages = (Message("system", self._system), Message("user", self._user.render(**values)))
        expected = self.expected_tokens(text)
        # A reply to a text that names much is cut off by the usual limit.
        limit = max(self._max_tokens, _ROOM * min(expected, self._max_tokens))
        return ChatRequest(self.task, messages, limit, self._schema, expected=expected)

    async def converse(self, text: str, build: Build) -> GleaningConversation:
        """Return all that came of the first request about a text and its continuations.

        Where the whole text gets no usable reply, since it is too long for one, its two halves are asked
        about, parted at a sentence. Their replies make one, which is cached as the reply to the whole.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        talk = GleaningConversation()
        try:
            messages = await self._first(talk, text, build)
            for round_ in range(1, self._rounds + 1):
                if self._order != "unchecked" and (self._order == "check_first" or round_ > 1):
                    asked = (*messages, Message("user", self._check))
                    task = f"{self.turns}_check"
                    missing = await yes_or_no(self._model, task, asked, self._retry, self._forced)
                    talk.usage += missing.reply_usage
                    if not missing.value:
                        break
                    messages = (*asked, Message("assistant", "YES"))
                following = (*messages, Message("user", self._more))
                # Before texts that are not begun: were all continuations left for the end, one that runs on
                # would keep the stage waiting; and the endpoint still has what it read of this text.
                more = replace(build(text), messages=following, urgent=True)
                messages = talk.accept(following, await self._ask(more, text, gleaning=True))
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
        messages = talk.accept(request.messages, asked)
        if talk.lost:
            talk.half = True
            raise talk.lost
        return messages

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
        join = join_tuple_replies if self._tuples else join_json_replies
        joined = join(came[0].text, came[1].text)
        note = f"asked about in halves: {failed.reason}"
        value, repaired = self._read(joined, text, gleaning=False)
        self._model.remember(
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

        return await ask(self._model, request, read, self._retry, has_alternative=has_alternative)

    def _read(self, reply: str, text: str, gleaning: bool) -> tuple[RawReply, bool]:
        read = read_tuple_records if self._tuples else read_json_records
        value, repaired = read(reply, self.kinds, gleaning=gleaning, labelled=self._labelled)
        return self._copies.quarantine(value, text), repaired
