"""From extractions to the tables of the extraction stage: pure conversions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal

import polars as pl

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.language.tasks import (
    ClaimInstance,
    Engine,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    UnitExtraction,
    UnitState,
)
from graphrag_dagster.core.text.spans import Span
from graphrag_dagster.tables import (
    CLAIMS,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    UNIT_LEDGER,
)

#: Type of an entity that only a relationship names (``dangling: create``).
UNKNOWN_TYPE: Final = "UNKNOWN"

_Row = dict[str, object]

#: A unit that is several states at once is in the first of these.
_STATES: tuple[UnitState, ...] = ("quarantined", "repaired", "extracted", "unreadable", "empty")


@dataclass(frozen=True)
class ExtractionFrames:
    """The tables of the extraction stage, with the columns that ``tables`` declares."""

    entities: pl.DataFrame
    relationships: pl.DataFrame
    claims: pl.DataFrame
    ledger: pl.DataFrame
    quarantine: pl.DataFrame


def extraction_frames(
    extractions: Iterable[UnitExtraction], engine: Engine, claim_engine: Engine | None = None
) -> ExtractionFrames:
    """Return the records of all units as frames, in the order of the units.

    Args:
        extractions: one per text unit.
        engine: who extracted the graph.
        claim_engine: who extracted the claims, where that is another.
    """
    units = list(extractions)
    return ExtractionFrames(
        GLEANED_ENTITIES.rows(_entity(u, n, e, engine) for u in units for n, e in enumerate(u.entities)),
        GLEANED_RELATIONSHIPS.rows(
            _relationship(u, n, r, engine) for u in units for n, r in enumerate(u.relationships)
        ),
        CLAIMS.rows(_claims(units, claim_engine or engine)),
        UNIT_LEDGER.rows(_ledger_row(unit, engine) for unit in units),
        QUARANTINE.rows(_put_aside(u, n, q, engine) for u in units for n, q in enumerate(u.quarantined)),
    )


def with_claims(graph: Sequence[UnitExtraction], claims: Sequence[UnitExtraction]) -> list[UnitExtraction]:
    """Join the claims of each unit to its graph, in the order of ``graph``.

    The state is the first of quarantined, repaired, extracted, unreadable and empty that either is in, with
    that one's reason; a unit without any record keeps both reasons, and one that either did not read says so.
    Costs, repairs and what was put aside add up.
    """
    by_unit = {found.unit_id: found for found in claims}
    return [_joined(found, by_unit[found.unit_id]) if found.unit_id in by_unit else found for found in graph]


def resolve_dangling(extraction: UnitExtraction, mode: Literal["quarantine", "create"]) -> UnitExtraction:
    """Deal with relationships whose ends are no entities of the same unit (spec_graphrag §3).

    ``quarantine`` puts the record aside with the reason; ``create`` makes an entity of type UNKNOWN with the
    relationship's description. A unit of which nothing is left becomes empty.
    """
    known = {entity.name for entity in extraction.entities}
    dangling = [r for r in extraction.relationships if not {r.source, r.target} <= known]
    if not dangling:
        return extraction
    if mode == "create":
        return replace(extraction, entities=extraction.entities + _created(dangling, known))
    kept = tuple(r for r in extraction.relationships if {r.source, r.target} <= known)
    aside = extraction.quarantined + tuple(_dangling(relation, known) for relation in dangling)
    left = replace(extraction, relationships=kept, quarantined=aside)
    if left.entities or kept or left.claims or left.state == "quarantined":
        return left
    return replace(left, state="empty", reason="every record was put aside", repaired=0)


def _created(dangling: Iterable[RelationshipInstance], known: set[str]) -> tuple[EntityInstance, ...]:
    made: dict[str, EntityInstance] = {}
    for relation in dangling:
        for name in (relation.source, relation.target):
            if name not in known and name not in made:
                made[name] = EntityInstance(
                    name, name, UNKNOWN_TYPE, relation.description, relation.round, ()
                )
    return tuple(made.values())


def _dangling(relation: RelationshipInstance, known: set[str]) -> Quarantined:
    unknown = [name for name in dict.fromkeys((relation.source, relation.target)) if name not in known]
    raw = f"{relation.source} – {relation.target}: {relation.description} (strength {relation.strength:g})"
    missing = " and ".join(repr(name) for name in unknown)
    verb = "is no entity" if len(unknown) == 1 else "are no entities"
    return Quarantined("relationship", raw, f"{missing} {verb} of this text unit", round=relation.round)


def _joined(graph: UnitExtraction, claims: UnitExtraction) -> UnitExtraction:
    state = next(state for state in _STATES if state in (graph.state, claims.state))
    told = (state, "unreadable")
    reasons = [found.reason for found in (graph, claims) if found.state in told and found.reason]
    return replace(
        graph,
        state=state,
        reason="; ".join(dict.fromkeys(reasons)) or None,
        rounds=max(graph.rounds, claims.rounds),
        claims=graph.claims + claims.claims,
        quarantined=graph.quarantined + claims.quarantined,
        repaired=graph.repaired + claims.repaired,
        usage=graph.usage + claims.usage,
    )


def _spans(spans: Iterable[Span]) -> list[dict[str, int]]:
    return [{"start": span.start, "end": span.end} for span in spans]


def _entity(unit: UnitExtraction, place: int, found: EntityInstance, engine: Engine) -> _Row:
    return {
        "instance_id": stable_id("entity", unit.unit_id, found.round, place),
        "text_unit_id": unit.unit_id,
        "round": found.round,
        "position": place,
        "name": found.name,
        "surface": found.surface,
        "type": found.type,
        "description": found.description,
        "spans": _spans(found.spans),
        "engine": engine,
    }


def _relationship(unit: UnitExtraction, place: int, found: RelationshipInstance, engine: Engine) -> _Row:
    return {
        "instance_id": stable_id("relationship", unit.unit_id, found.round, place),
        "text_unit_id": unit.unit_id,
        "round": found.round,
        "position": place,
        "source": found.source,
        "target": found.target,
        "description": found.description,
        "strength": found.strength,
        "basis": found.basis,
        "spans": _spans(found.spans),
        "engine": engine,
    }


def _claims(units: Iterable[UnitExtraction], engine: Engine) -> Iterator[_Row]:
    every = chain.from_iterable(((unit, n, claim) for n, claim in enumerate(unit.claims)) for unit in units)
    for number, (unit, place, found) in enumerate(every):
        yield _claim(unit, number, place, found, engine)


def _claim(unit: UnitExtraction, number: int, place: int, found: ClaimInstance, engine: Engine) -> _Row:
    return {
        "claim_id": stable_id("claim", unit.unit_id, found.round, place),
        "human_readable_id": number,
        "text_unit_id": unit.unit_id,
        "round": found.round,
        "position": place,
        "subject": found.subject,
        "object": found.object,
        "type": found.type,
        "status": found.status,
        "description": found.description,
        "start_date": found.start_date,
        "end_date": found.end_date,
        "spans": _spans(found.spans),
        "engine": engine,
    }


def _ledger_row(unit: UnitExtraction, engine: Engine) -> _Row:
    return {
        "text_unit_id": unit.unit_id,
        "state": unit.state,
        "reason": unit.reason,
        "rounds": unit.rounds,
        "entities": len(unit.entities),
        "relationships": len(unit.relationships),
        "claims": len(unit.claims),
        "repaired": unit.repaired,
        "quarantined": len(unit.quarantined),
        "calls": unit.usage.calls,
        "input_tokens": unit.usage.input_tokens,
        "output_tokens": unit.usage.output_tokens,
        "engine": engine,
    }


def _put_aside(unit: UnitExtraction, place: int, found: Quarantined, engine: Engine) -> _Row:
    return {
        "quarantine_id": stable_id("quarantine", unit.unit_id, found.round, place),
        "text_unit_id": unit.unit_id,
        "round": found.round,
        "position": place,
        "kind": found.kind,
        "reason": found.reason,
        "raw": found.raw,
        "prompt": found.prompt,
        "engine": engine,
    }
