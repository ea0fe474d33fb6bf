"""The order in which a request without a usable reply is repeated, seen from the endpoint."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from support.endpoint import Fault, Scripted, ScriptedEndpoint

TEXT = "Ann Lee runs the Harbour Trust with Bo Ray."
GOOD = {
    "json_schema": json.dumps(
        {"entities": [{"name": "Ann Lee", "type": "person", "description": "Runs it."}], "relationships": []}
    ),
    "tuples": '("entity"<|>Ann Lee<|>PERSON<|>Runs it.)\n<|COMPLETE|>',
}
EXAMPLE = {
    "json_schema": [
        {"name": "Marrow Lane Bakery", "type": "ORGANIZATION", "description": "A bakery."},
        {"name": "Ilka Venn", "type": "PERSON", "description": "Founded it."},
    ],
    "tuples": [
        '("entity"<|>Marrow Lane Bakery<|>ORGANIZATION<|>A bakery.)',
        '("entity"<|>Ilka Venn<|>PERSON<|>Founded it.)',
    ],
}
FORMS = pytest.mark.parametrize("form", ["json_schema", "tuples"])


def extract(model: Any, text: str = TEXT, form: str = "json_schema", **options: Any) -> UnitExtraction:
    chosen = {"gleaning_rounds": 0, "replies": form, **options}
    extractor = LlmGraphExtractor(model, entity_types=["person"], **chosen)
    [unit] = extractor.extract([TextUnit("u", text)])
    return unit


def answers(*replies: str | Scripted) -> Callable[[dict[str, Any]], str | Scripted]:
    """The replies in their order, the last again and again."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def attempts(endpoint: ScriptedEndpoint) -> list[tuple[int, int]]:
    """Turns and limit of every call."""
    return [(len(chat.messages), chat.body["max_tokens"]) for chat in endpoint.chats]


@FORMS
@pytest.mark.parametrize("bad", [0, 1, 2, 3])
def test_the_rungs_come_in_their_order(model_of: Callable[..., Any], form: str, bad: int) -> None:
    replies = [f"Nothing of use, number {n}." for n in range(bad)]
    with ScriptedEndpoint(answers(*replies, GOOD[form])) as endpoint:
        unit = extract(model_of(endpoint), form=form)
    assert (
        attempts(endpoint)
        == [
            *[(2, 4000)] * 2,
            (4, 4000),
            (2, 8000),
        ][: bad + 1]
    )
    assert (unit.state, unit.usage.calls) == ("extracted", 1)
    for chat in (*endpoint.chats[1:2], *endpoint.chats[3:]):
        assert chat.messages == endpoint.chats[0].messages
    for chat in endpoint.chats[2:3]:
        assert chat.messages[:2] == endpoint.chats[0].messages
        assert chat.messages[2] == {"role": "assistant", "content": "Nothing of use, number 1."}
        assert "holds no" in chat.last


@FORMS
def test_who_says_the_same_again_is_told_what_is_wrong(model_of: Callable[..., Any], form: str) -> None:
    with ScriptedEndpoint(answers(*["Nothing of use."] * 3, GOOD[form])) as endpoint:
        unit = extract(model_of(endpoint), form=form)
    assert attempts(endpoint) == [(2, 4000), (2, 4000), (4, 4000), (2, 8000)]
    assert unit.state == "extracted"


@FORMS
@pytest.mark.parametrize(
    "spoilt",
    [
        "half",
        "",
        "I'm sorry, but I can't help with that.",
        '{"properties": {}, "type": "object"}',
        "{ [",
        "x",
    ],
)
def test_a_spoilt_reply_is_asked_for_as_it_was_and_the_text_is_not_halved(
    model_of: Callable[..., Any], form: str, spoilt: str
) -> None:
    bad = GOOD[form][: len(GOOD[form]) // 2] if spoilt == "half" else spoilt
    text = f"{TEXT} Cy Dee left."
    with ScriptedEndpoint(answers(bad, GOOD[form])) as endpoint:
        unit = extract(model_of(endpoint), text, form=form)
    with ScriptedEndpoint(answers(GOOD[form])) as undisturbed:
        assert unit == extract(model_of(undisturbed), text, form=form)
    first, second = endpoint.chats
    assert (first.messages, first.body["max_tokens"]) == (second.messages, second.body["max_tokens"])


@FORMS
@pytest.mark.parametrize("cut", ["Ann Lee and", ""])
def test_a_cut_reply_is_asked_for_whole_before_the_text_is_halved(
    model_of: Callable[..., Any], form: str, cut: str
) -> None:
    text = f"{TEXT} Cy Dee left."
    with ScriptedEndpoint(answers(Scripted(cut, "length"), GOOD[form])) as endpoint:
        unit = extract(model_of(endpoint), text, form=form)
    with ScriptedEndpoint(answers(GOOD[form])) as undisturbed:
        assert unit == extract(model_of(undisturbed), text, form=form)
    first, second = endpoint.chats
    assert (first.messages, first.body["max_tokens"], second.body["max_tokens"]) == (
        second.messages,
        4000,
        8000,
    )


def test_json_that_can_be_mended_costs_no_second_call(model_of: Callable[..., Any]) -> None:
    broken = GOOD["json_schema"].replace('"', "'").replace("[]", "[],")
    with ScriptedEndpoint(lambda _: f"Here it is:\n```json\n{broken}\n```") as endpoint:
        unit = extract(model_of(endpoint))
    assert (unit.state, unit.reason, len(endpoint.chats)) == ("repaired", "repaired: 1", 1)
    assert [entity.name for entity in unit.entities] == ["ANN LEE"]


def test_a_small_limit_is_raised_to_what_hidden_reasoning_may_take(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(lambda _: "no json") as endpoint:
        extract(model_of(endpoint), "One sentence.", max_output_tokens=100)
    assert [limit for _, limit in attempts(endpoint)] == [100, 100, 100, 2000]


@FORMS
def test_a_reply_that_its_limit_cuts_off_gets_a_higher_one(model_of: Callable[..., Any], form: str) -> None:
    long = " ".join(f"word{number}" for number in range(40))

    def wordy(body: dict[str, Any]) -> str:
        names = [f"Ann {chr(65 + n)}ee" for n in range(20)]
        if form == "tuples":
            return "\n##\n".join(f'("entity"<|>{n}<|>PERSON<|>{long})' for n in names) + "<|COMPLETE|>"
        entities = [{"name": n, "type": "person", "description": long} for n in names]
        return json.dumps({"entities": entities, "relationships": []})

    with ScriptedEndpoint(wordy, obey_limit=True) as endpoint:
        unit = extract(model_of(endpoint), form=form, max_output_tokens=800)
    assert attempts(endpoint) == [(2, 800), (2, 2000)]
    assert (unit.state, len(unit.entities)) == ("extracted", 20)


@FORMS
def test_what_a_higher_limit_cuts_off_too_is_told_to_be_briefer(
    model_of: Callable[..., Any], form: str
) -> None:
    cut = Scripted("Ann Lee and", "length")
    with ScriptedEndpoint(answers(cut, cut, GOOD[form])) as endpoint:
        unit = extract(model_of(endpoint), form=form, max_output_tokens=800)
    assert attempts(endpoint) == [(2, 800), (2, 2000), (4, 2000)]
    assert "cut off at its limit of 2000 tokens" in endpoint.chats[2].last
    assert unit.state == "extracted"


@FORMS
def test_to_be_given_more_room_is_no_attempt(model_of: Callable[..., Any], form: str) -> None:
    cut = Scripted("Ann Lee and", "length")
    with ScriptedEndpoint(answers(cut, "No.", "No.", "No.", GOOD[form])) as endpoint:
        unit = extract(model_of(endpoint), form=form, max_output_tokens=800)
    assert attempts(endpoint) == [(2, 800), (2, 2000), (4, 2000), (2, 2000), (2, 2000)]
    assert unit.state == "extracted"


@FORMS
def test_where_a_higher_limit_is_refused_the_model_is_told_at_the_first(
    model_of: Callable[..., Any], form: str
) -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(400, "max_tokens is too large") if body["max_tokens"] > 800 else None

    with ScriptedEndpoint(answers(Scripted("Ann", "length"), GOOD[form]), faults=faults) as endpoint:
        unit = extract(model_of(endpoint), form=form, max_output_tokens=800)
    assert attempts(endpoint) == [(2, 800), (2, 2000), (4, 800)]
    assert unit.state == "extracted"


def test_a_text_that_names_much_has_a_higher_limit(model_of: Callable[..., Any]) -> None:
    names = [f"Ann {chr(65 + n % 26)}{chr(97 + n // 26)}ee" for n in range(90)]
    with ScriptedEndpoint(lambda _: GOOD["json_schema"]) as endpoint:
        for most in (4000, 5000, 10_000):
            extract(model_of(endpoint), ", met ".join(names) + ".", max_output_tokens=most)
    expected = 15 * (90 + 89) + 1
    assert [limit for _, limit in attempts(endpoint)] == [2 * expected, 2 * expected, 10_000]
    with ScriptedEndpoint(lambda _: GOOD["json_schema"]) as endpoint:
        extract(model_of(endpoint), ", met ".join(names) + ".", max_output_tokens=1000)
    assert attempts(endpoint) == [(2, 2000)]


def test_a_limit_that_reasoning_uses_up_is_raised_at_once(model_of: Callable[..., Any]) -> None:
    thought = f"<think>{' '.join(map(str, range(900)))}</think>{GOOD['json_schema']}"
    with ScriptedEndpoint(lambda _: thought, obey_limit=True) as endpoint:
        unit = extract(model_of(endpoint), max_output_tokens=500)
    assert [limit for _, limit in attempts(endpoint)] == [500, 2000]
    assert unit.state == "extracted"


@FORMS
def test_no_empty_turn_is_sent_after_an_empty_reply(model_of: Callable[..., Any], form: str) -> None:
    with ScriptedEndpoint(answers("", "<think>hm</think>", GOOD[form])) as endpoint:
        assert extract(model_of(endpoint), form=form).state == "extracted"
    assert endpoint.chats[2].messages[-2]["content"] == "(no reply)"
    assert "the reply is empty" in endpoint.chats[2].last


@FORMS
@pytest.mark.parametrize("reason", ["content_filter", "refusal"])
def test_what_a_model_withholds_is_asked_for_once(
    model_of: Callable[..., Any], form: str, reason: str
) -> None:
    with ScriptedEndpoint(lambda _: Scripted("No.", reason)) as endpoint:
        unit = extract(model_of(endpoint), form=form)
    assert (len(endpoint.chats), unit.state) == (1, "quarantined")
    assert f"withheld its reply ({reason})" in (unit.reason or "")


ECHO = json.dumps({"type": "object", "properties": {"entities": {"type": "array"}}, "required": ["entities"]})
PLACEHOLDER = {
    "json_schema": json.dumps(
        {
            "entities": [{"name": "<entity_name>", "type": "<entity_type>", "description": "..."}],
            "relationships": [],
        }
    ),
    "tuples": '("entity"<|><entity_name><|><entity_type><|><entity_description>)<|COMPLETE|>',
}


@pytest.mark.parametrize(
    ("form", "bad", "reason"),
    [
        ("json_schema", ECHO, "the JSON schema itself"),
        ("json_schema", json.dumps({"entities": "Ann Lee", "relationships": 3}), "no list of entities"),
        ("json_schema", json.dumps({"entities": ["Ann Lee", 7]}), "no list of entities"),
        ("json_schema", PLACEHOLDER["json_schema"], "'<entity_name>' is a placeholder"),
        ("tuples", PLACEHOLDER["tuples"], "'<entity_name>' is a placeholder"),
    ],
)
def test_what_is_wrong_is_told(model_of: Callable[..., Any], form: str, bad: str, reason: str) -> None:
    with ScriptedEndpoint(answers(bad, bad, GOOD[form])) as endpoint:
        unit = extract(model_of(endpoint), form=form)
    assert reason in endpoint.chats[2].last
    assert (unit.state, len(endpoint.chats), len(unit.entities)) == ("extracted", 3, 1)


def in_form(form: str, records: list[Any]) -> str:
    if form == "tuples":
        return "\n##\n".join(records) + "\n<|COMPLETE|>"
    return json.dumps({"entities": records, "relationships": []})


@FORMS
def test_a_reply_that_copies_the_example_is_asked_for_again(model_of: Callable[..., Any], form: str) -> None:
    copied = in_form(form, EXAMPLE[form])
    with ScriptedEndpoint(answers(copied, copied, GOOD[form])) as endpoint:
        unit = extract(model_of(endpoint), form=form)
    assert "'Marrow Lane Bakery' is copied from the example" in endpoint.chats[2].last
    assert ([entity.name for entity in unit.entities], unit.state) == (["ANN LEE"], "extracted")


@FORMS
def test_records_copied_from_the_example_are_put_aside(model_of: Callable[..., Any], form: str) -> None:
    own = GOOD[form].split("\n")[0] if form == "tuples" else json.loads(GOOD[form])["entities"][0]
    with ScriptedEndpoint(lambda _: in_form(form, [*EXAMPLE[form], own])) as endpoint:
        unit = extract(model_of(endpoint), form=form)
    assert len(endpoint.chats) == 1
    assert [entity.name for entity in unit.entities] == ["ANN LEE"]
    assert [(aside.kind, "copied from the example" in aside.reason) for aside in unit.quarantined] == [
        ("entity", True)
    ] * 2
    assert (unit.state, unit.reason) == ("repaired", "records quarantined: 2")


@FORMS
def test_names_of_the_example_that_the_text_holds_count(model_of: Callable[..., Any], form: str) -> None:
    with ScriptedEndpoint(lambda _: in_form(form, EXAMPLE[form])) as endpoint:
        unit = extract(model_of(endpoint), "ILKA  VENN sold Marrow Lane\nBakery.", form=form)
    assert [entity.name for entity in unit.entities] == ["MARROW LANE BAKERY", "ILKA VENN"]
    assert unit.state == "extracted"


def test_wrong_types_are_mended_or_put_aside(model_of: Callable[..., Any]) -> None:
    reply = {
        "entities": [
            {"name": "Ann Lee", "type": ["person"], "description": {"text": "Runs it"}},
            {"name": 1998, "type": "event", "description": "A year."},
            {"name": ["Bo Ray"], "type": "person", "description": None},
            {"name": {}, "type": "person", "description": "Nobody."},
        ],
        "relationships": [{"source": "Ann Lee", "target": "Bo Ray", "description": 7, "strength": True}],
    }
    with ScriptedEndpoint(lambda _: json.dumps(reply)) as endpoint:
        unit = extract(model_of(endpoint))
    assert len(endpoint.chats) == 1
    assert len(unit.entities) + len(unit.relationships) + len(unit.quarantined) == 5
    assert all(isinstance(entity.name, str) and entity.name for entity in unit.entities)
    assert [relation.strength for relation in unit.relationships] == [1.0]


def test_a_prompt_that_a_second_attempt_makes_too_long_keeps_the_first_reason(
    model_of: Callable[..., Any],
) -> None:
    def faults(number: int, _: dict[str, Any]) -> Fault | None:
        return Fault(400, "maximum context length") if number else None

    with ScriptedEndpoint(lambda _: "no json", faults=faults) as endpoint:
        unit = extract(model_of(endpoint))
    assert len(endpoint.chats) == 2
    assert "holds no JSON" in (unit.reason or "")
    assert "maximum context length" in (unit.reason or "")
