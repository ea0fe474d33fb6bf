"""What became of one text unit: its instances, what was put aside, and its state."""

from graphrag_dagster.core.language.llm.extraction.gleaning import Conversation
from graphrag_dagster.core.language.tasks import (
    ClaimInstance,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    TextUnit,
    UnitExtraction,
    UnitState,
)
from graphrag_dagster.core.text.text_places import TextPlaces


def unit_extraction(unit: TextUnit, talk: Conversation, nothing: str) -> UnitExtraction:
    """Return the extraction of a unit.

    The state is ``quarantined`` where the first reply, or that to one half of the text, could not be used, or
    not one of its records could; ``repaired`` where records were mended or put aside, the text was asked
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
