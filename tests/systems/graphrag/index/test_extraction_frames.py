"""Extractions become the tables of the extraction stage, and nothing is lost on the way."""

import polars as pl
import pytest

from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tasks.task_ports import (
    ClaimInstance,
    EntityInstance,
    Quarantined,
    RelationshipInstance,
    UnitExtraction,
)
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.graphrag.index.extraction_tables import (
    ExtractionFrames,
    check_ledger,
    extraction_frames,
    joined_frames,
    resolve_dangling,
    with_claims,
)

VELL = EntityInstance("VELL", "Vell", "PERSON", "Vell met Holt.", spans=(Span(0, 4),))
HOLT = EntityInstance("HOLT", "Holt", "PERSON", "Vell met Holt.", round=1)
MET = RelationshipInstance("VELL", "HOLT", "Vell met Holt.", 2.0, "verb", spans=(Span(0, 14),))
GONE = RelationshipInstance("VELL", "NOBODY", "Vell met nobody.", round=1)
CLAIM = ClaimInstance("VELL", None, "MEET", "TRUE", "Vell met Holt.", "2011", None, spans=(Span(0, 14),))
REPLY = Quarantined("reply", "nonsense", "no JSON", prompt="Extract.")

FULL = UnitExtraction(
    "u1",
    "extracted",
    rounds=2,
    entities=(VELL, HOLT),
    relationships=(MET,),
    usage=Usage(2, 30, 4),
    replies=("6b",),
)
EMPTY = UnitExtraction("u2", "empty", reason="no names found")
BAD = UnitExtraction("u3", "quarantined", reason="no JSON", quarantined=(REPLY,))


def validated(frames: ExtractionFrames) -> dict[str, pl.DataFrame]:
    return {
        "gleaned_entities": tables.GLEANED_ENTITIES.validated(frames.entities),
        "gleaned_relationships": tables.GLEANED_RELATIONSHIPS.validated(frames.relationships),
        "claims": tables.CLAIMS.validated(frames.claims),
        "unit_ledger": tables.UNIT_LEDGER.validated(frames.ledger),
        "quarantine": tables.QUARANTINE.validated(frames.quarantine),
    }


def test_frames_are_the_declared_tables_and_the_ledger_agrees() -> None:
    units = with_claims([FULL, EMPTY, BAD], [UnitExtraction("u1", "extracted", claims=(CLAIM,))])
    frames = validated(extraction_frames(units, "llm"))
    chunks = pl.DataFrame({"text_unit_id": ["u1", "u2", "u3"]})
    assert check_ledger(text_chunks=chunks, **frames) == []
    assert frames["unit_ledger"].drop("engine").rows() == [
        ("u1", "extracted", None, 2, 2, 1, 1, 0, 0, 2, 30, 4, ["6b"]),
        ("u2", "empty", "no names found", 1, 0, 0, 0, 0, 0, 0, 0, 0, []),
        ("u3", "quarantined", "no JSON", 1, 0, 0, 0, 0, 1, 0, 0, 0, []),
    ]
    assert frames["gleaned_entities"]["spans"].to_list() in (
        [[{"start": 0, "end": 4}], []],
        [[], [{"start": 0, "end": 4}]],
    )
    assert frames["quarantine"]["prompt"].to_list() == ["Extract."]


@pytest.mark.parametrize("units", [[], [EMPTY]])
def test_nothing_gives_declared_empty_tables(units: list[UnitExtraction]) -> None:
    frames = validated(extraction_frames(units, "extractive"))
    assert frames["gleaned_entities"].is_empty()
    assert len(frames["unit_ledger"]) == len(units)


def test_frames_of_parts_are_those_of_the_whole() -> None:
    parts = [[FULL, EMPTY], [], [BAD]]
    joined = joined_frames(extraction_frames(part, "extractive") for part in parts)
    whole = extraction_frames([FULL, EMPTY, BAD], "extractive")
    for name, frame in vars(whole).items():
        assert getattr(joined, name).equals(frame)


def test_ids_depend_on_unit_and_place_alone() -> None:
    together = extraction_frames([EMPTY, FULL], "llm").entities["instance_id"].to_list()
    alone = extraction_frames([FULL], "extractive").entities["instance_id"].to_list()
    assert together == alone
    assert len(set(together)) == 2


def test_claims_are_numbered_in_the_order_of_the_units() -> None:
    units = [
        UnitExtraction(name, "extracted", claims=(CLAIM,) * count) for name, count in (("b", 2), ("a", 1))
    ]
    frames = extraction_frames(units, "llm", claim_engine="extractive")
    assert frames.claims["human_readable_id"].to_list() == [0, 1, 2]
    assert frames.claims["text_unit_id"].to_list() == ["b", "b", "a"]
    assert set(frames.claims["engine"]) == {"extractive"}
    assert set(frames.ledger["engine"]) == {"llm"}


@pytest.mark.parametrize(
    ("graph", "claims", "state", "reason"),
    [
        (FULL, EMPTY, "extracted", None),
        (EMPTY, FULL, "extracted", None),
        (
            EMPTY,
            UnitExtraction("u", "empty", reason="no claims found"),
            "empty",
            "no names found; no claims found",
        ),
        (FULL, BAD, "quarantined", "no JSON"),
        (BAD, FULL, "quarantined", "no JSON"),
        (FULL, UnitExtraction("u", "repaired", repaired=2), "repaired", None),
    ],
)
def test_states_join(graph: UnitExtraction, claims: UnitExtraction, state: str, reason: str | None) -> None:
    same_unit = UnitExtraction(
        graph.unit_id,
        claims.state,
        claims.reason,
        claims=(CLAIM,),
        quarantined=claims.quarantined,
        repaired=claims.repaired,
        usage=Usage(1, 10, 1),
    )
    (joined,) = with_claims([graph], [same_unit])
    assert (joined.state, joined.reason) == (state, reason)
    assert joined.claims == (CLAIM,)
    assert joined.usage == graph.usage + Usage(1, 10, 1)
    assert joined.repaired == graph.repaired + claims.repaired
    assert len(joined.quarantined) == len(graph.quarantined) + len(claims.quarantined)


def test_units_without_claims_stay() -> None:
    assert with_claims([FULL, EMPTY], []) == [FULL, EMPTY]


def test_dangling_relations_are_put_aside() -> None:
    unit = UnitExtraction("u", "extracted", entities=(VELL, HOLT), relationships=(MET, GONE))
    left = resolve_dangling(unit, "quarantine")
    assert left.relationships == (MET,)
    assert left.entities == unit.entities
    (aside,) = left.quarantined
    assert (aside.kind, aside.round) == ("relationship", 1)
    assert aside.reason == "'NOBODY' is no entity of this text unit"
    assert "Vell met nobody." in aside.raw
    assert left.state == "extracted"
    assert resolve_dangling(FULL, "quarantine") is FULL


def test_a_unit_of_which_nothing_is_left_is_empty() -> None:
    left = resolve_dangling(UnitExtraction("u", "extracted", relationships=(GONE, GONE)), "quarantine")
    assert (left.state, left.reason) == ("empty", "every record was put aside")
    assert len(left.quarantined) == 2


def test_dangling_ends_can_be_created() -> None:
    unit = UnitExtraction("u", "extracted", entities=(VELL,), relationships=(GONE, GONE))
    made = resolve_dangling(unit, "create")
    assert made.relationships == (GONE, GONE)
    assert made.entities == (
        VELL,
        EntityInstance("NOBODY", "NOBODY", "UNKNOWN", "Vell met nobody.", round=1),
    )
    validated(extraction_frames([made], "llm"))
