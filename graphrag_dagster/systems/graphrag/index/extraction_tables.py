"""Extractions as tables, and the ledger that counts every text unit and record once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables.core_tables import CLAIMS, UNIT_LEDGER
from graphrag_dagster.kernel.tasks.task_ports import (
    UNKNOWN_TYPE,
    ClaimInstance,
    Engine,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    UnitExtraction,
    UnitState,
)
from graphrag_dagster.systems.graphrag.tables import (
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    TYPINGS,
)

_Row = dict[str, object]
_Record = EntityInstance | RelationshipInstance | ClaimInstance | Quarantined

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
    typings: pl.DataFrame


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
    claims = _rows("claim", "claim_id", ((u, u.claims) for u in units), claim_engine or engine)
    return ExtractionFrames(
        GLEANED_ENTITIES.rows(_rows("entity", "instance_id", ((u, u.entities) for u in units), engine)),
        GLEANED_RELATIONSHIPS.rows(
            _rows("relationship", "instance_id", ((u, u.relationships) for u in units), engine)
        ),
        CLAIMS.rows(row | {"human_readable_id": number} for number, row in enumerate(claims)),
        UNIT_LEDGER.rows(_ledger_row(unit, engine) for unit in units),
        QUARANTINE.rows(_rows("quarantine", "quarantine_id", ((u, u.quarantined) for u in units), engine)),
        TYPINGS.rows(row for unit in units for row in _typing_rows(unit)),
    )


def joined_frames(parts: Iterable[ExtractionFrames]) -> ExtractionFrames:
    """Return the rows of parts without claims, of which there is at least one, one after another."""
    tables = zip(*(vars(part).values() for part in parts), strict=True)
    return ExtractionFrames(*map(pl.concat, tables))


def with_claims(graph: Sequence[UnitExtraction], claims: Sequence[UnitExtraction]) -> list[UnitExtraction]:
    """Join the claims of each unit to its graph, in the order of ``graph``.

    The state is the first of quarantined, repaired, extracted, unreadable and empty that either is in, with
    that one's reason; a unit without any record keeps both reasons, and one that either did not read says so.
    Costs, repairs and quarantined items add up.
    """
    by_unit = {found.unit_id: found for found in claims}
    return [
        _join_extractions(found, by_unit[found.unit_id]) if found.unit_id in by_unit else found
        for found in graph
    ]


def resolve_dangling(extraction: UnitExtraction, mode: Literal["quarantine", "create"]) -> UnitExtraction:
    """Deal with relationships whose ends are no entities of the same unit.

    ``quarantine`` puts the record aside with the reason; ``create`` makes an entity of type UNKNOWN with the
    relationship's description. A unit of which nothing is left becomes empty.
    """
    known = {entity.name for entity in extraction.entities}
    dangling = [r for r in extraction.relationships if not {r.source, r.target} <= known]
    if not dangling:
        return extraction
    if mode == "create":
        return replace(extraction, entities=extraction.entities + _placeholder_entities(dangling, known))
    kept = tuple(r for r in extraction.relationships if {r.source, r.target} <= known)
    aside = extraction.quarantined + tuple(_dangling(relation, known) for relation in dangling)
    left = replace(extraction, relationships=kept, quarantined=aside)
    if left.entities or kept or left.claims or left.state == "quarantined":
        return left
    return replace(left, state="empty", reason="every record was put aside", repaired=0)


def _placeholder_entities(
    dangling: Iterable[RelationshipInstance], known: set[str]
) -> tuple[EntityInstance, ...]:
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


def _join_extractions(graph: UnitExtraction, claims: UnitExtraction) -> UnitExtraction:
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
        replies=graph.replies + claims.replies,
    )


def _rows(
    kind: str, key: str, units: Iterable[tuple[UnitExtraction, Sequence[_Record]]], engine: Engine
) -> Iterator[_Row]:
    """The records of units with their ids and places; their columns are called as their fields are."""
    for unit, records in units:
        for place, found in enumerate(records):
            row: _Row = {one.name: getattr(found, one.name) for one in fields(found)}
            if not isinstance(found, Quarantined):
                row["spans"] = [{"start": span.start, "end": span.end} for span in found.spans]
            row[key] = stable_id(kind, unit.unit_id, found.round, place)
            yield row | {"text_unit_id": unit.unit_id, "position": place, "engine": engine}


def _typing_rows(unit: UnitExtraction) -> Iterator[_Row]:
    """The names without a type of their own, which only a model can give them."""
    for place, found in enumerate(unit.entities):
        if found.name in unit.untyped:
            yield {
                "text_unit_id": unit.unit_id,
                "position": place,
                "name": found.name,
                "type": found.type,
                "decided_by": "nothing",
                "problem": None,
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
        "replies": list(unit.replies),
        "engine": engine,
    }


_COUNTED = {
    "entities": "gleaned_entities",
    "relationships": "gleaned_relationships",
    "claims": "claims",
    "quarantined": "quarantine",
}


def unreadable_units(unit_ledger: pl.DataFrame) -> list[str]:
    """Return how many units were not read, a line for each reason."""
    return _counts_by_reason(unit_ledger.filter(state="unreadable"), unit_ledger.height)


def units_without_grammar(unit_ledger: pl.DataFrame) -> list[str]:
    """Return of how many units only names were extracted, for their language, a line for each reason."""
    read = unit_ledger.filter(pl.col("reason").is_not_null(), state="extracted")
    return _counts_by_reason(read, unit_ledger.height)


def check_something_read(unit_ledger: pl.DataFrame) -> list[str]:
    """Return why every reply was quarantined, by reason; empty where any unit was read or is in a
    language that is only searched.
    """
    lost = unit_ledger.filter(state="quarantined")
    return _counts_by_reason(lost, unit_ledger.height) if 0 < lost.height == unit_ledger.height else []


def _counts_by_reason(units: pl.DataFrame, every: int) -> list[str]:
    counted = units.group_by("state", "reason").len().sort(["len", "reason"], descending=[True, False])
    of = f"{every:,} text unit{'' if every == 1 else 's'}"
    return [f"{count:,} of {of} {state}: {reason}" for state, reason, count in counted.rows()]


def check_ledger(
    *,
    text_chunks: pl.DataFrame,
    unit_ledger: pl.DataFrame,
    gleaned_entities: pl.DataFrame,
    gleaned_relationships: pl.DataFrame,
    claims: pl.DataFrame,
    quarantine: pl.DataFrame,
) -> list[str]:
    """Return what is wrong with the ledger; empty where every unit and every record is accounted for."""
    tables = {
        "gleaned_entities": gleaned_entities,
        "gleaned_relationships": gleaned_relationships,
        "claims": claims,
        "quarantine": quarantine,
    }
    units, listed = text_chunks.select("text_unit_id"), unit_ledger.select("text_unit_id")
    problems = [
        f"unit {u} is missing from the ledger"
        for u in units.join(listed, on="text_unit_id", how="anti")["text_unit_id"]
    ]
    problems += [
        f"{u} is in the ledger but is not a unit"
        for u in listed.join(units, on="text_unit_id", how="anti")["text_unit_id"]
    ]
    problems += [
        f"unit {u} is in the ledger twice"
        for u in listed.filter(listed.is_duplicated()).unique()["text_unit_id"]
    ]
    for column, name in _COUNTED.items():
        counted = tables[name].group_by("text_unit_id").len(name="found")
        both = unit_ledger.select("text_unit_id", column).join(counted, on="text_unit_id", how="left")
        wrong = both.filter(pl.col(column) != pl.col("found").fill_null(0))
        problems += [
            f"unit {unit}: the ledger says {said} {column}, but the table {name} contains {found or 0}"
            for unit, said, found in wrong.rows()
        ]
    explained = pl.col("state").is_in(["empty", "quarantined", "unreadable"])
    silent = unit_ledger.filter(explained & pl.col("reason").is_null())
    return problems + [
        f"unit {unit} is {state} without a reason" for unit, state in silent["text_unit_id", "state"].rows()
    ]
