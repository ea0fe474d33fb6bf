"""What the extractors that ask a model share: how a text is asked about, and how replies are read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypedDict, Unpack

from pydantic import BaseModel

from graphrag_dagster.engines.extractive.text_places import TextPlaces
from graphrag_dagster.kernel.models.chat.port import ChatModel, ChatRequest, Message, noted_replies
from graphrag_dagster.kernel.models.chat.prompt import Prompt, PromptSource
from graphrag_dagster.kernel.models.chat.yes_no import YesNo, encoding_of_model, first_tokens
from graphrag_dagster.kernel.tasks.ports import (
    ClaimInstance,
    Engine,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    TextUnit,
    UnitExtraction,
    UnitState,
)
from graphrag_dagster.systems.graphrag.llm.extraction.examples import Copies
from graphrag_dagster.systems.graphrag.llm.extraction.gleaning import Build, Conversation, Gleaner, Order
from graphrag_dagster.systems.graphrag.llm.extraction.raw_records import (
    RawReply,
    join_json_replies,
    join_tuple_replies,
    read_json_records,
    read_tuple_records,
)
from graphrag_dagster.systems.graphrag.llm.extraction.records import RecordType


def unit_extraction(unit: TextUnit, talk: Conversation, nothing: str) -> UnitExtraction:
    """Return the extraction of a unit.

    The state is ``quarantined`` where the first reply, or that to one half of the text, could not be used, or
    not one of its records could; ``repaired`` where records were repaired or quarantined, the text was asked
    about in halves, or a gleaning was lost, and the reason says which; ``empty`` for a reply without records.

    Args:
        unit: the text unit.
        talk: its replies; the instances carry their place in it as ``round``.
        nothing: the reason given for a unit without records.
    """
    places = TextPlaces(unit.text)
    kept: list[EntityInstance | RelationshipInstance | ClaimInstance] = []
    aside: list[Quarantined] = []
    repaired = talk.mended
    for round_, reply in enumerate(talk.replies):
        for made, mended in reply.instances(places, round_):
            if isinstance(made, Quarantined):
                aside.append(made)
            else:
                kept.append(made)
                repaired += mended
    if talk.lost:
        lost = talk.lost
        aside.append(Quarantined("reply", lost.reply, lost.reason, lost.prompt, talk.lost_round))
    state, reason = _state(talk, len(kept), repaired, aside, nothing)
    return UnitExtraction(
        unit.id,
        state,
        reason,
        len(talk.replies),
        tuple(record for record in kept if isinstance(record, EntityInstance)),
        tuple(record for record in kept if isinstance(record, RelationshipInstance)),
        tuple(record for record in kept if isinstance(record, ClaimInstance)),
        tuple(aside),
        repaired,
        talk.usage,
    )


def _state(
    talk: Conversation, kept: int, repaired: int, aside: list[Quarantined], nothing: str
) -> tuple[UnitState, str | None]:
    if talk.lost and talk.half:
        return "quarantined", f"one half of the text got no usable reply: {talk.lost.reason}"
    if talk.lost and not talk.replies:
        return "quarantined", talk.lost.reason
    records = [record for record in aside if record.kind != "reply"]
    if records and not kept:
        return "quarantined", f"none of {len(records)} records could be used: {records[0].reason}"
    problems = [
        *([talk.note] if talk.note else []),
        *([f"mended: {repaired}"] if repaired else []),
        *([f"records put aside: {len(records)}"] if records else []),
        *([f"gleaning {talk.lost_round} was lost: {talk.lost.reason}"] if talk.lost else []),
    ]
    if problems and (kept or talk.lost or talk.note):
        return "repaired", "; ".join(problems)
    return ("extracted", None) if kept else ("empty", nothing)


#: A limit is so many times the expected length of a reply, but at most so many times the usual limit.
_ROOM = 2

Replies = Literal["json_schema", "tuples"]


class Options(TypedDict, total=False):
    """How a model is asked.

    Attributes:
        gleaning_rounds: most continuations per unit; default 1.
        gleaning_order: see :mod:`.gleaning`; default ``check_first``.
        replies: JSON by schema, which is the default, or the paper's delimited tuples.
        logit_bias: the endpoint can force tokens, which is the default.
        max_output_tokens: longest reply; default 4000.
        tokenizer_name: encoding of the model, by default told by the model's name; no token of an unknown
            encoding is forced.
    """

    gleaning_rounds: int
    gleaning_order: Order
    replies: Replies
    logit_bias: bool
    max_output_tokens: int
    tokenizer_name: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for.

    Attributes:
        kinds: of records.
        shape: of a reply in JSON.
        task: whose prompts are used: ``<task>[_labelled][_tuples]_system`` and ``<task>_user``.
        more: the prompt that asks on.
        check: the prompt that asks whether anything is missing.
        nothing: said of a text in which the model found nothing.
        labelled: relationships with labels.
        expected: tokens of the reply about a text; its second argument tells whether that is delimited
            tuples. None: nobody knows.
    """

    kinds: tuple[RecordType, ...]
    shape: type[BaseModel]
    task: str
    more: str
    check: str
    nothing: str
    labelled: bool = False
    expected: Callable[[str, bool], int] | None = None

    def system(self, *, tuples: bool) -> str:
        """Name of the prompt that says what is wanted."""
        return f"{self.task}{'_labelled' * self.labelled}{'_tuples' * tuples}_system"


class GleaningExtractor:
    """Leads a conversation about each text, for what the model missed too.

    Args:
        model: answers.
        prompts: those that ``wanted`` names, and ``retry``.
        wanted: what is asked for.
        system: makes the system prompt of the one that is loaded; its second argument tells whether replies
            are delimited tuples.
        shown: names in the corpus's own examples.
        options: how it is asked.
    """

    engine: Engine = "llm"

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        wanted: Wanted,
        system: Callable[[Prompt, bool], str],
        shown: Iterable[str],
        **options: Unpack[Options],
    ) -> None:
        tuples = options.get("replies") == "tuples"
        self._model = model
        self._wanted = wanted
        self._system = system(prompts.load(wanted.system(tuples=tuples)), tuples)
        self._user = prompts.load(f"{wanted.task}_user")
        self._schema = None if tuples else wanted.shape
        self._max_tokens = options.get("max_output_tokens", 4000)
        self._gleaner = Gleaner(
            model,
            self._read_tuples if tuples else self._read_json,
            join_tuple_replies if tuples else join_json_replies,
            Copies.of(self._system, shown),
            prompts.load("retry"),
            prompts.load(wanted.more),
            YesNo(
                model,
                wanted.check,
                prompts.load(wanted.check),
                prompts.load("retry"),
                _forced(model, options),
            ),
            options.get("gleaning_rounds", 1),
            options.get("gleaning_order", "check_first"),
        )

    def _read_json(self, text: str, gleaning: bool) -> tuple[RawReply, bool]:
        """Read a JSON reply; a gleaning that found nothing may say so in an empty object."""
        if gleaning and text.strip() in {"{}", "[]"}:
            return RawReply(), False
        return read_json_records(text, self._wanted.kinds, labelled=self._wanted.labelled)

    def _read_tuples(self, text: str, gleaning: bool) -> tuple[RawReply, bool]:
        """Read a reply in delimited tuples."""
        wanted = self._wanted
        return read_tuple_records(text, wanted.kinds, gleaning=gleaning, labelled=wanted.labelled)

    def _request(self, text: str, **values: str) -> ChatRequest:
        messages = (Message("system", self._system), Message("user", self._user.render(**values)))
        expected = self._expected_tokens(text)
        # A reply to a text that names much is cut off by the usual limit.
        limit = max(self._max_tokens, _ROOM * min(expected, self._max_tokens))
        return ChatRequest(self._wanted.task, messages, limit, self._schema, expected=expected)

    def _expected_tokens(self, text: str) -> int:
        expected = self._wanted.expected
        return expected(text, self._schema is None) if expected else 0

    async def _of_unit(self, unit: TextUnit, build: Build) -> UnitExtraction:
        with noted_replies() as noted:
            talk = await self._gleaner.run(unit.text, build)
        return replace(unit_extraction(unit, talk, self._wanted.nothing), replies=tuple(noted))


def _forced(model: ChatModel, options: Options) -> tuple[int, ...]:
    if not options.get("logit_bias", True):
        return ()
    return first_tokens(options.get("tokenizer_name") or encoding_of_model(model.name))
