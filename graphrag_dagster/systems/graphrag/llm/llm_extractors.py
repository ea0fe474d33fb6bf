"""Entities, relationships and claims by a model (paper §3.1.2, Appendix E.1)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatRequest, collect_reused_replies
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_largest_first
from graphrag_dagster.kernel.models.chat.reply_schemas import ClaimsShape, GraphShape, LabelledGraphShape
from graphrag_dagster.kernel.tasks.example_schemas import ClaimExample, GraphExample
from graphrag_dagster.kernel.tasks.task_ports import (
    ClaimInstance,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    TextUnit,
    UnitExtraction,
    UnitState,
)
from graphrag_dagster.kernel.text.prompt_templates import enclose
from graphrag_dagster.systems.graphrag.llm.extraction_lengths import reply_tokens
from graphrag_dagster.systems.graphrag.llm.gleaning import (
    Build,
    GleaningAsker,
    GleaningConversation,
    Options,
)
from graphrag_dagster.systems.graphrag.llm.prompt_examples import claim_example, graph_example


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
    quarantined: list[Quarantined] = []
    repaired = talk.repaired
    for round_, reply in enumerate(talk.replies):
        for made, was_repaired in reply.instances(places, round_):
            if isinstance(made, Quarantined):
                quarantined.append(made)
            else:
                kept.append(made)
                repaired += was_repaired
    if talk.lost:
        lost = talk.lost
        quarantined.append(Quarantined("reply", lost.reply, lost.reason, lost.prompt, talk.lost_round))
    state, reason = _state(talk, len(kept), repaired, quarantined, nothing)
    return UnitExtraction(
        unit.id,
        state,
        reason,
        len(talk.replies),
        tuple(record for record in kept if isinstance(record, EntityInstance)),
        tuple(record for record in kept if isinstance(record, RelationshipInstance)),
        tuple(record for record in kept if isinstance(record, ClaimInstance)),
        tuple(quarantined),
        repaired,
        talk.usage,
    )


def _state(
    talk: GleaningConversation, kept: int, repaired: int, quarantined: list[Quarantined], nothing: str
) -> tuple[UnitState, str | None]:
    if talk.lost and talk.half:
        return "quarantined", f"one half of the text got no usable reply: {talk.lost.reason}"
    if talk.lost and not talk.replies:
        return "quarantined", talk.lost.reason
    records = [record for record in quarantined if record.kind != "reply"]
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


async def _extraction_of_unit(
    asker: GleaningAsker, unit: TextUnit, build: Build, nothing: str
) -> UnitExtraction:
    with collect_reused_replies() as noted:
        talk = await asker.converse(unit.text, build)
    return replace(unit_extraction(unit, talk, nothing), replies=tuple(noted))


class LlmGraphExtractor(GleaningAsker):
    """Asks a model for the entities and relationships of each text unit, and for what it missed.

    Args:
        examples: of the corpus, shown in place of the prompt's own.
        relation_labels: whether relationships are asked for with labels; by default all are ``related_to``.
    """

    kinds = ("entity", "relationship")
    task = "extract_graph"
    turns = "glean"

    def __init__(
        self,
        model: ChatModel,
        *,
        entity_types: Sequence[str],
        examples: Sequence[GraphExample] = (),
        relation_labels: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(
            model,
            LabelledGraphShape if relation_labels else GraphShape,
            [graph_example(one, entity_types, labelled=relation_labels) for one in examples],
            labelled=relation_labels,
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
            size=lambda unit: self.expected_tokens(unit.text),
            name="Extracting entities and relationships",
            calls=self._model.concurrency,
        )

    def first_request(self, text: str) -> ChatRequest:
        """Return the request that opens the conversation about a text."""
        return self._request(
            text, entity_types=enclose("entity_types", self._types), source_text=enclose("source_text", text)
        )

    def expected_tokens(self, text: str) -> int:
        """Return the tokens of the first reply about a text that are to be expected."""
        return reply_tokens([text], json=self._schema is not None)[0]

    async def _extract(self, unit: TextUnit) -> UnitExtraction:
        nothing = "the model found no entities and no relationships"
        return await _extraction_of_unit(self, unit, self.first_request, nothing)


class LlmClaimExtractor(GleaningAsker):
    """Asks a model for claims about the entities of each text unit, and for those it missed.

    Args:
        examples: of the corpus, shown in place of the prompt's own.
    """

    kinds = ("claim",)
    task = "extract_claims"
    turns = "claims"

    def __init__(
        self,
        model: ChatModel,
        *,
        claim_description: str,
        examples: Sequence[ClaimExample] = (),
        **options: Unpack[Options],
    ) -> None:
        super().__init__(
            model,
            ClaimsShape,
            list(map(claim_example, examples)),
            system_values={"description": claim_description},
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
        first = partial(self.first_request, names)
        return await _extraction_of_unit(self, unit, first, "the model found no claims")

    def first_request(self, names: Sequence[str], text: str) -> ChatRequest:
        """Return the request that opens the conversation about a text and the names found in it."""
        return self._request(
            text,
            entity_names=enclose("entity_names", "\n".join(sorted(set(names)))),
            source_text=enclose("source_text", text),
        )
