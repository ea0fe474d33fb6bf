"""Entities, relationships and claims by a model (paper §3.1.2, Appendix E.1)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypedDict, Unpack

from pydantic import BaseModel

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.models.chat.chat_model import (
    ChatModel,
    ChatRequest,
    Message,
    collect_reused_replies,
)
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_largest_first
from graphrag_dagster.kernel.models.chat.reply_schemas import (
    ClaimsShape,
    GraphShape,
    LabelledGraphShape,
)
from graphrag_dagster.kernel.models.chat.yes_no import YesNo, encoding_of_model, first_tokens
from graphrag_dagster.kernel.tasks.example_schemas import ClaimExample, GraphExample
from graphrag_dagster.kernel.tasks.task_ports import (
    ClaimInstance,
    Engine,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    TextUnit,
    UnitExtraction,
    UnitState,
)
from graphrag_dagster.kernel.text.prompt_templates import Prompt, PromptSource, enclose
from graphrag_dagster.systems.graphrag.llm.extraction_lengths import reply_tokens
from graphrag_dagster.systems.graphrag.llm.extraction_records import RecordType
from graphrag_dagster.systems.graphrag.llm.gleaning import (
    Build,
    Gleaner,
    GleaningConversation,
    Order,
)
from graphrag_dagster.systems.graphrag.llm.prompt_examples import (
    Copies,
    with_claim_examples,
    with_graph_examples,
)
from graphrag_dagster.systems.graphrag.llm.record_parsing import (
    RawReply,
    join_json_replies,
    join_tuple_replies,
    read_json_records,
    read_tuple_records,
)


def unit_extraction(unit: TextUnit, talk: GleaningConversation, nothing: str) -> UnitExtraction:
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
    talk: GleaningConversation, kept: int, repaired: int, aside: list[Quarantined], nothing: str
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
        *([f"repaired: {repaired}"] if repaired else []),
        *([f"records quarantined: {len(records)}"] if records else []),
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


@dataclass(frozen=True, slots=True)
class WantedRecords:
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
        system: makes the system prompt of the one that is loaded; its second argument tells whether replies
            are delimited tuples.
        shown: names in the corpus's own examples.
    """

    engine: Engine = "llm"

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        wanted: WantedRecords,
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
            self._read,
            join_tuple_replies if tuples else join_json_replies,
            Copies.of(self._system, shown),
            prompts.load("retry"),
            prompts.load(wanted.more),
            YesNo(
                model,
                wanted.check,
                prompts.load(wanted.check),
                prompts.load("retry"),
                _forced_tokens(model, options),
            ),
            options.get("gleaning_rounds", 1),
            options.get("gleaning_order", "check_first"),
        )

    def _read(self, text: str, gleaning: bool) -> tuple[RawReply, bool]:
        wanted, read = self._wanted, read_json_records if self._schema else read_tuple_records
        return read(text, wanted.kinds, gleaning=gleaning, labelled=wanted.labelled)

    def _request(self, text: str, **values: str) -> ChatRequest:
        messages = (Message("system", self._system), Message("user", self._user.render(**values)))
        expected = self._expected_tokens(text)
        # A reply to a text that names much is cut off by the usual limit.
        limit = max(self._max_tokens, _ROOM * min(expected, self._max_tokens))
        return ChatRequest(self._wanted.task, messages, limit, self._schema, expected=expected)

    def _expected_tokens(self, text: str) -> int:
        expected = self._wanted.expected
        return expected(text, self._schema is None) if expected else 0

    async def _extraction_of_unit(self, unit: TextUnit, build: Build) -> UnitExtraction:
        with collect_reused_replies() as noted:
            talk = await self._gleaner.run(unit.text, build)
        return replace(unit_extraction(unit, talk, self._wanted.nothing), replies=tuple(noted))


def _forced_tokens(model: ChatModel, options: Options) -> tuple[int, ...]:
    if not options.get("logit_bias", True):
        return ()
    return first_tokens(encoding_of_model(model.name))


_GRAPH_RECORDS = WantedRecords(
    ("entity", "relationship"),
    GraphShape,
    "extract_graph",
    "glean_continue",
    "glean_check",
    "the model found no entities and no relationships",
    expected=lambda text, tuples: reply_tokens([text], json=not tuples)[0],
)
_LABELLED = replace(
    _GRAPH_RECORDS,
    shape=LabelledGraphShape,
    labelled=True,
)


class LlmGraphExtractor(GleaningExtractor):
    """Asks a model for the entities and relationships of each text unit, and for what it missed.

    Args:
        examples: of the corpus, shown in place of the prompt's own.
        relation_labels: whether relationships are asked for with labels; by default all are ``related_to``.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        entity_types: Sequence[str],
        examples: Sequence[GraphExample] = (),
        relation_labels: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(
            model,
            prompts,
            _LABELLED if relation_labels else _GRAPH_RECORDS,
            lambda own, tuples: with_graph_examples(
                own.render(), examples, entity_types, tuples=tuples, labelled=relation_labels
            ),
            (name for one in examples for name in one.names),
            **options,
        )
        self._types = ", ".join(entity_types)

    def extract(self, units: Sequence[TextUnit]) -> list[UnitExtraction]:
        """Return one extraction per unit, in the order of ``units``.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        return run_largest_first(
            self._extract,
            units,
            size=lambda unit: self._expected_tokens(unit.text),
            name="Extracting entities and relationships",
            calls=self._model.concurrency,
        )

    def first_request(self, text: str) -> ChatRequest:
        """Return the request that opens the conversation about a text."""
        return self._request(
            text, entity_types=enclose("entity_types", self._types), source_text=enclose("source_text", text)
        )

    async def _extract(self, unit: TextUnit) -> UnitExtraction:
        return await self._extraction_of_unit(unit, self.first_request)


_CLAIM_RECORDS = WantedRecords(
    ("claim",),
    ClaimsShape,
    "extract_claims",
    "claims_continue",
    "claims_check",
    "the model found no claims",
)


class LlmClaimExtractor(GleaningExtractor):
    """Asks a model for claims about the entities of each text unit, and for those it missed.

    Args:
        examples: of the corpus, shown in place of the prompt's own.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        claim_description: str,
        examples: Sequence[ClaimExample] = (),
        **options: Unpack[Options],
    ) -> None:
        super().__init__(
            model,
            prompts,
            _CLAIM_RECORDS,
            lambda own, tuples: with_claim_examples(
                own.render(description=claim_description), examples, tuples=tuples
            ),
            (name for one in examples for name in one.names),
            **options,
        )

    def extract_claims(
        self, units: Sequence[TextUnit], names: Sequence[Sequence[str]]
    ) -> list[UnitExtraction]:
        """Return one extraction per unit, with claims only; a unit without entities costs no call.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        return run_largest_first(
            self._extract,
            list(zip(units, names, strict=True)),
            size=lambda task: len(task[0].text),
            name="Extracting claims",
            calls=self._model.concurrency,
        )

    async def _extract(self, task: tuple[TextUnit, Sequence[str]]) -> UnitExtraction:
        unit, names = task
        if not names:
            return UnitExtraction(unit.id, "empty", "no entities that claims could be about", rounds=0)
        return await self._extraction_of_unit(unit, partial(self.first_request, names))

    def first_request(self, names: Sequence[str], text: str) -> ChatRequest:
        """Return the request that opens the conversation about a text and the names found in it."""
        return self._request(
            text,
            entity_names=enclose("entity_names", "\n".join(sorted(set(names)))),
            source_text=enclose("source_text", text),
        )
