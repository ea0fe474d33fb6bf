"""A reply that runs on: the text with a higher limit and its halves are asked about side by side."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.structured_output import AllFailed, first_completed
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from support.conversations import prompt_tokens, section
from support.endpoint import Fault, Scripted, ScriptedEndpoint

FIRST, SECOND = "Ann Lee met Bo Ray.", "Cy Dee left Eve Fox."
TEXT = f"{FIRST} {SECOND}"
#: More room gives it no end, and it has no whole record.
LOOP = '{"entities": [{"name": "Ann Lee", "type": "person", "description": "' + "She is here and there. " * 40
#: Longer than any test takes.
_NEVER = 60.0


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


def slow(which: Callable[[dict[str, Any]], bool]) -> Callable[[int, dict[str, Any]], Fault | None]:
    return lambda _, body: Fault(hang=_NEVER) if which(body) else None


def higher(body: dict[str, Any]) -> bool:
    return bool(body["max_tokens"] > 4000)


def half(body: dict[str, Any]) -> bool:
    return source(body) in {FIRST, SECOND}


def extract(model: Any) -> UnitExtraction:
    extractor = LlmGraphExtractor(model, prompts, entity_types=["person"], gleaning_rounds=0)
    [unit] = extractor.extract([TextUnit("u", TEXT)])
    return unit


def names(unit: UnitExtraction) -> list[str]:
    return [entity.name for entity in unit.entities]


def test_halves_that_come_first_count(memory: Any) -> None:
    with ScriptedEndpoint(script, faults=slow(higher)) as endpoint:
        unit = extract(memory.chat(endpoint))
        again = extract(memory.chat(endpoint, memory.account(run="r2")))
        assert sorted(map(source, (chat.body for chat in endpoint.chats))) == sorted(
            [TEXT, TEXT, FIRST, SECOND]
        )
    assert names(unit) == ["BO RAY", "CY DEE"]
    assert (unit.state, again) == ("repaired", unit)
    assert (unit.reason or "").startswith("asked about in halves: the reply was cut off at its limit of 4000")
    used = memory.used()
    assert (used.calls, used.failed, used.repeated) == (3, 1, 0)


def test_a_whole_that_comes_first_counts_and_what_was_given_up_is_paid_for(memory: Any) -> None:
    with ScriptedEndpoint(script, faults=slow(half), seconds=0.2) as endpoint:
        unit = extract(memory.chat(endpoint))
    assert (names(unit), unit.state, unit.reason) == (["ANN LEE"], "extracted", None)
    used = memory.used()
    assert (used.calls, used.failed, used.repeated) == (2, 2, 1)
    answered = sum(chat.input_tokens for chat in endpoint.chats if not half(chat.body))
    assert used.input_tokens - answered == sum(
        prompt_tokens(chat.body) for chat in endpoint.chats if half(chat.body)
    )


def test_where_both_ways_are_lost_the_whole_is_the_reason(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: Scripted("{", "length")) as endpoint:
        unit = extract(memory.chat(endpoint))
    assert unit.state == "quarantined"
    assert TEXT in (unit.quarantined[0].prompt or "")


def test_a_half_that_came_is_kept_where_all_else_is_lost(memory: Any) -> None:
    def answer(body: dict[str, Any]) -> str | Scripted:
        return found("Bo Ray") if source(body) == FIRST else Scripted("{", "length")

    with ScriptedEndpoint(answer) as endpoint:
        unit = extract(memory.chat(endpoint))
    assert (unit.state, names(unit)) == ("quarantined", ["BO RAY"])
    assert (unit.reason or "").startswith("one half of the text got no usable reply")


def test_an_endpoint_that_cannot_be_used_ends_both_ways(memory: Any) -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(401, "no such key") if half(body) else Fault(hang=_NEVER) if higher(body) else None

    with ScriptedEndpoint(script, faults=faults) as endpoint, pytest.raises(EndpointError, match="401|key"):
        extract(memory.chat(endpoint))


def test_of_ways_the_first_that_ends_counts_and_the_others_are_given_up() -> None:
    ended: list[str] = []

    async def way(name: str, seconds: float, error: type[Exception] | None = None) -> str:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            ended.append(name)
            raise
        if error:
            raise error(name)
        return name

    async def race() -> None:
        assert await first_completed(way("a", _NEVER), way("b", 0.0), lost=KeyError) == "b"
        assert ended == ["a"]
        assert await first_completed(way("c", 0.0), way("d", 0.0), lost=KeyError) == "c"
        assert await first_completed(way("e", 0.0, KeyError), way("f", 0.01), lost=KeyError) == "f"
        with pytest.raises(AllFailed) as all_lost:
            await first_completed(way("g", 0.01, KeyError), way("h", 0.0, KeyError), lost=KeyError)
        assert [error.args[0] for error in all_lost.value.errors] == ["g", "h"]
        with pytest.raises(ValueError, match="j"):
            await first_completed(way("i", _NEVER), way("j", 0.0, ValueError), lost=KeyError)
        assert ended == ["a", "i"]

    run_one(race())


def test_records_before_a_loop_are_used_and_only_relationships_are_asked_for_then(memory: Any) -> None:
    rows = [json.dumps({"name": name, "type": "person", "description": "Here."}) for name in ("Ann", "Bo")]
    looping = '{"entities": [' + ", ".join(rows * 20) + ', {"name": "An'
    with ScriptedEndpoint(lambda _: Scripted(looping, "length")) as endpoint:
        unit = extract(memory.chat(endpoint))
        again = extract(memory.chat(endpoint, memory.account(run="r2")))
        asked = [str(chat.body["messages"][-1]["content"]) for chat in endpoint.chats]
        assert [text.startswith("These are enough entities") for text in asked] == [False, True]
    assert (names(unit), unit.state) == (["ANN", "BO"], "repaired")
    assert "repeated itself" in (unit.reason or "")
    assert unit.usage.repaired == 2
    assert again == unit
