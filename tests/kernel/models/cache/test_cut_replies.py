"""A reply that runs on: the text is asked about with a higher limit, then in halves."""

import json
from typing import Any

import pytest

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from support.conversations import section
from support.endpoint import Fault, Scripted, ScriptedEndpoint

FIRST, SECOND = "Ann Lee met Bo Ray.", "Cy Dee left Eve Fox."
TEXT = f"{FIRST} {SECOND}"
#: More room gives it no end, and it has no whole record.
LOOP = '{"entities": [{"name": "Ann Lee", "type": "person", "description": "' + "She is here and there. " * 40


def source(body: dict[str, Any]) -> str:
    return section(body["messages"][1]["content"], "source_text") or ""


def found(name: str) -> str:
    entity = {"name": name, "type": "person", "description": f"{name} is here."}
    return json.dumps({"entities": [entity], "relationships": []})


def script(body: dict[str, Any]) -> str | Scripted:
    """The whole is cut off at the first limit; with a higher one, and for halves, there is a reply."""
    if source(body) == TEXT:
        return Scripted(LOOP, "length") if body["max_tokens"] == 4000 else found("Ann Lee")
    return found("Bo Ray" if source(body) == FIRST else "Cy Dee")


def endless(body: dict[str, Any]) -> str | Scripted:
    """No room is enough for the whole."""
    return Scripted(LOOP, "length") if source(body) == TEXT else script(body)


def extract(model: Any) -> UnitExtraction:
    extractor = LlmGraphExtractor(model, entity_types=["person"], gleaning_rounds=0)
    [unit] = extractor.extract([TextUnit("u", TEXT)])
    return unit


def names(unit: UnitExtraction) -> list[str]:
    return [entity.name for entity in unit.entities]


def test_a_reply_that_runs_on_is_asked_for_in_halves(memory: Any) -> None:
    with ScriptedEndpoint(endless) as endpoint:
        unit = extract(memory.chat(endpoint))
        again = extract(memory.chat(endpoint, memory.account(run="r2")))
        assert [source(chat.body) for chat in endpoint.chats][:2] == [TEXT, TEXT]
        assert sorted(source(chat.body) for chat in endpoint.chats[2:]) == sorted([FIRST, SECOND])
    assert names(unit) == ["BO RAY", "CY DEE"]
    assert (unit.state, again) == ("repaired", unit)
    assert (unit.reason or "").startswith("asked about in halves: the reply was cut off at its limit of 8000")
    used = memory.used()
    assert (used.calls, used.failed, used.repeated) == (4, 0, 1)


def test_more_room_comes_before_halves(memory: Any) -> None:
    with ScriptedEndpoint(script) as endpoint:
        unit = extract(memory.chat(endpoint))
        assert [source(chat.body) for chat in endpoint.chats] == [TEXT, TEXT]
    assert (names(unit), unit.state, unit.reason) == (["ANN LEE"], "extracted", None)


def test_where_both_ways_are_lost_the_whole_is_the_reason(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: Scripted("{", "length")) as endpoint:
        unit = extract(memory.chat(endpoint))
    assert unit.state == "quarantined"
    assert TEXT in (unit.quarantined[0].prompt or "")


@pytest.mark.parametrize(("lost", "kept"), [(FIRST, ["CY DEE"]), (SECOND, ["BO RAY"])])
def test_the_half_that_came_is_kept_and_the_other_is_quarantined(
    memory: Any, lost: str, kept: list[str]
) -> None:
    def answer(body: dict[str, Any]) -> str | Scripted:
        return Scripted("{", "length") if source(body) == lost else endless(body)

    with ScriptedEndpoint(answer) as endpoint:
        unit = extract(memory.chat(endpoint))
    assert (unit.state, names(unit)) == ("quarantined", kept)
    assert (unit.reason or "").startswith("one half of the text got no usable reply")
    [reply] = unit.quarantined
    assert lost in (reply.prompt or "")
    assert reply.round == 0
    with ScriptedEndpoint(endless) as endpoint:
        assert names(extract(memory.chat(endpoint, memory.account(run="r2")))) == ["BO RAY", "CY DEE"]
        assert [source(chat.body) for chat in endpoint.chats] == [TEXT, TEXT, lost]


@pytest.mark.parametrize("unusable", [{FIRST, SECOND}, {SECOND}])
def test_an_endpoint_that_cannot_be_used_ends_the_halves_too(memory: Any, unusable: set[str]) -> None:
    """Also where the reply to the first half is no good either."""

    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(401, "no such key") if source(body) in unusable else None

    def answer(body: dict[str, Any]) -> Scripted:
        return Scripted(LOOP, "length")

    with ScriptedEndpoint(answer, faults=faults) as endpoint, pytest.raises(EndpointError, match="401|key"):
        extract(memory.chat(endpoint))


def test_records_before_a_loop_are_used(memory: Any) -> None:
    rows = [json.dumps({"name": name, "type": "person", "description": "Here."}) for name in ("Ann", "Bo")]
    looping = '{"entities": [' + ", ".join(rows * 20) + ', {"name": "An'
    with ScriptedEndpoint(lambda _: Scripted(looping, "length")) as endpoint:
        unit = extract(memory.chat(endpoint))
        again = extract(memory.chat(endpoint, memory.account(run="r2")))
        assert len(endpoint.chats) == 1
    assert (names(unit), unit.state) == (["ANN", "BO"], "repaired")
    assert "repeated itself" in (unit.reason or "")
    assert unit.usage.repaired == 1
    assert again == unit
