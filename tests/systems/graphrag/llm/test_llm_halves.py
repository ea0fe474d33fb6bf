"""A text whose replies are cut off as a whole is asked about in halves."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel, ChatReply, ChatRequest, Listener
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.systems.graphrag.llm.gleaning import split_in_halves
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from support.conversations import prompt_tokens
from support.endpoint import Fault, Scripted, ScriptedEndpoint

FIRST, SECOND = "Ann Lee met Bo Ray.", "Cy Dee left Eve Fox."
TEXT = f"{FIRST}  {SECOND}"
FORMS = pytest.mark.parametrize("form", ["json_schema", "tuples"])
#: A reply that was cut off, and does not say so.
CUT = {"json_schema": '{"entities": [{"name": "Ann', "tuples": '("entity"<|>Ann Lee<|>PERS'}
WORDS = st.lists(
    st.sampled_from(
        ["Ann", "Lee", "met", "Dr.", "No.", "3.5", "Yes!", "left.", "\n", "\n\n", "。", "- ", '"']
    )
)


class Remembering:
    """A chat model that notes what it is told to remember."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name, self.concurrency = model.name, model.concurrency
        self.kept: dict[str, ChatReply] = {}

    async def complete(self, request: ChatRequest, listen: Listener | None = None) -> ChatReply:
        kept = self.kept.get(request.messages[-1].content)
        return kept if kept and not request.again else await self._model.complete(request, listen)

    def remember(self, request: ChatRequest, reply: ChatReply) -> None:
        self.kept[request.messages[-1].content] = reply


def records(form: str, text: str) -> str:
    names = re.findall(r"[A-Z]\w+ [A-Z]\w+", text)
    if form == "tuples":
        made = [f'("entity"<|>{name}<|>PERSON<|>{name} is here.)' for name in names]
        made += [f'("relationship"<|>{names[0]}<|>{names[1]}<|>They met.<|>4)']
        return "\n##\n".join([*made, "<|COMPLETE|>"])
    entities = [{"name": name, "type": "person", "description": f"{name} is here."} for name in names]
    relation = {"source": names[0], "target": names[1], "description": "They met.", "strength": 4}
    return json.dumps({"entities": entities, "relationships": [relation]})


def source(body: dict[str, Any]) -> str:
    return body["messages"][1]["content"].split("<source_text>\n")[1].split("\n</source_text>")[0]


def halves_only(form: str, bad: str = "") -> Callable[[dict[str, Any]], str]:
    """Answers no text but the halves, nor the half that is ``bad``."""

    def script(body: dict[str, Any]) -> str:
        text = source(body)
        return records(form, text) if text in {FIRST, SECOND} and text != bad else CUT[form]

    return script


def extract(model: Any, form: str, text: str = TEXT, **options: Any) -> UnitExtraction:
    chosen = {"gleaning_rounds": 0, "replies": form, **options}
    extractor = LlmGraphExtractor(model, entity_types=["person"], **chosen)
    [unit] = extractor.extract([TextUnit("u", text)])
    return unit


@given(st.one_of(st.text(max_size=200), WORDS.map(" ".join)))
def test_halves_lose_nothing_but_white_space(text: str) -> None:
    parts = split_in_halves(text)
    if parts is None:
        return
    first, second = parts
    assert first.strip()
    assert second.strip()
    assert text.startswith(first)
    assert text.endswith(second)
    assert not text[len(first) : len(text) - len(second)].strip()


def test_halves_are_parted_at_the_sentence_nearest_to_the_middle() -> None:
    assert split_in_halves("One is here. Two is there. Three is a long one at the end.") == (
        "One is here. Two is there.",
        "Three is a long one at the end.",
    )
    assert split_in_halves("Only one sentence") is None
    assert split_in_halves(" \n ") is None


@FORMS
def test_the_records_of_both_halves_count_and_the_whole_is_remembered(
    model_of: Callable[..., Any], form: str
) -> None:
    with ScriptedEndpoint(halves_only(form)) as endpoint:
        model = Remembering(model_of(endpoint))
        unit = extract(model, form)
        assert sorted(source(chat.body) for chat in endpoint.chats) == sorted([TEXT] * 4 + [FIRST, SECOND])
        again = extract(model, form)
        assert len(endpoint.chats) == 6
    assert again == unit
    assert [entity.name for entity in unit.entities] == ["ANN LEE", "BO RAY", "CY DEE", "EVE FOX"]
    assert [(r.source, r.target) for r in unit.relationships] == [
        ("ANN LEE", "BO RAY"),
        ("CY DEE", "EVE FOX"),
    ]
    cy_dee = unit.entities[2].spans[0]
    assert TEXT[cy_dee.start : cy_dee.end] == "Cy Dee"
    assert unit.state == "repaired"
    assert (unit.reason or "").startswith("asked about in halves: the ")
    assert (unit.rounds, unit.usage.calls, unit.quarantined) == (1, 1, ())


@pytest.mark.parametrize(
    "dressed",
    [
        "Sure:\n```json\n{}\n```\nThat is all.",
        "{}\nI hope this helps.",
        "Part of it: {}",
    ],
)
def test_words_round_the_replies_of_halves_hide_no_records(
    model_of: Callable[..., Any], dressed: str
) -> None:
    def script(body: dict[str, Any]) -> str:
        reply = halves_only("json_schema")(body)
        return dressed.replace("{}", reply) if reply.startswith("{") else reply

    with ScriptedEndpoint(script) as endpoint:
        unit = extract(model_of(endpoint), "json_schema")
    assert [entity.name for entity in unit.entities] == ["ANN LEE", "BO RAY", "CY DEE", "EVE FOX"]
    assert (len(unit.relationships), unit.quarantined) == (2, ())


@pytest.mark.parametrize("place", [0, 1])
def test_halves_that_need_mending_keep_their_records(model_of: Callable[..., Any], place: int) -> None:
    def script(body: dict[str, Any]) -> str:
        reply = halves_only("json_schema")(body)
        if source(body) != (FIRST, SECOND)[place]:
            return reply
        found = json.loads(reply)
        return (
            json.dumps({"entities": found["entities"]})
            if place
            else reply.replace("]}", ",],}").replace('"', "'")
        )

    with ScriptedEndpoint(script) as endpoint:
        unit = extract(model_of(endpoint), "json_schema")
    assert sorted(entity.name for entity in unit.entities) == ["ANN LEE", "BO RAY", "CY DEE", "EVE FOX"]
    assert (len(unit.relationships), unit.quarantined) == (2 - place, ())


@FORMS
@pytest.mark.parametrize(("bad", "kept"), [(FIRST, ["CY DEE", "EVE FOX"]), (SECOND, ["ANN LEE", "BO RAY"])])
def test_with_one_half_lost_the_unit_is_quarantined_and_the_other_kept(
    model_of: Callable[..., Any], form: str, bad: str, kept: list[str]
) -> None:
    with ScriptedEndpoint(halves_only(form, bad)) as endpoint:
        model = Remembering(model_of(endpoint))
        unit = extract(model, form, gleaning_rounds=1)
    assert unit.state == "quarantined"
    assert (unit.reason or "").startswith("one half of the text got no usable reply: the ")
    assert [entity.name for entity in unit.entities] == kept
    [aside] = unit.quarantined
    assert (aside.kind, aside.raw, aside.round) == ("reply", CUT[form], 0)
    assert bad in (aside.prompt or "")
    assert not any(TEXT in prompt for prompt in model.kept)
    assert len(model.kept) == 1


@FORMS
def test_what_a_text_is_too_long_for_its_halves_may_fit(model_of: Callable[..., Any], form: str) -> None:
    long = " ".join([FIRST] * 30) + " " + " ".join([SECOND] * 30)
    with ScriptedEndpoint(lambda body: records(form, source(body))) as endpoint:
        extract(model_of(endpoint), form, long)
        whole = prompt_tokens(endpoint.chats[0].body)
    with ScriptedEndpoint(lambda body: records(form, source(body)), context_tokens=whole - 1) as endpoint:
        unit = extract(model_of(endpoint), form, long)
    assert [chat.status for chat in endpoint.chats] == [400, 200, 200]
    assert unit.state == "repaired"
    assert "maximum context length" in (unit.reason or "")
    assert {entity.name for entity in unit.entities} == {"ANN LEE", "BO RAY", "CY DEE", "EVE FOX"}


@FORMS
@pytest.mark.parametrize("reply", ["I would rather not.", "", '{"properties": {}, "type": "object"}'])
def test_what_is_malformed_and_not_cut_off_is_not_halved(
    model_of: Callable[..., Any], form: str, reply: str
) -> None:
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        unit = extract(model_of(endpoint), form)
    assert {source(chat.body) for chat in endpoint.chats} == {TEXT}
    assert (len(endpoint.chats), unit.state) == (4, "quarantined")


@FORMS
def test_a_single_sentence_has_no_halves(model_of: Callable[..., Any], form: str) -> None:
    with ScriptedEndpoint(lambda _: "I would rather not.") as endpoint:
        unit = extract(model_of(endpoint), form, FIRST)
    assert (len(endpoint.chats), unit.state, unit.usage.calls) == (4, "quarantined", 4)


def test_a_call_that_failed_on_its_way_is_no_reason_for_halves(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(faults=lambda *_: Fault(drop=True)) as endpoint:
        unit = extract(model_of(endpoint, retries=0), "json_schema")
    assert (len(endpoint.chats), unit.state) == (1, "quarantined")


@FORMS
def test_halves_may_be_gleaned_like_a_whole(model_of: Callable[..., Any], form: str) -> None:
    more = prompts.load("glean_continue").text

    def script(body: dict[str, Any]) -> str | Scripted:
        last = body["messages"][-1]["content"]
        if last == prompts.load("glean_check").text:
            return Scripted("YES", "length")
        if last == more:
            assert all(name in body["messages"][2]["content"] for name in ("Ann Lee", "Eve Fox"))
            return records(form, "Gil Hay saw Ida Joy.")
        return halves_only(form)(body)

    with ScriptedEndpoint(script) as endpoint:
        unit = extract(model_of(endpoint), form, gleaning_rounds=1)
    assert [(entity.name, entity.round) for entity in unit.entities[-2:]] == [("GIL HAY", 1), ("IDA JOY", 1)]
    assert (len(unit.entities), unit.rounds) == (6, 2)
