"""Labels of relations: asked of a model only where they are wanted."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.tasks.example_schemas import GraphExample
from graphrag_dagster.kernel.tasks.task_ports import TextUnit, UnitExtraction
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from support.endpoint import Scripted, ScriptedEndpoint

EXAMPLE: dict[str, Any] = {
    "text": "Oslin barley feeds the thrips.",
    "entities": [
        {"name": "Oslin barley", "type": "crop", "description": "It feeds thrips."},
        {"name": "Thrips", "type": "pest", "description": "They eat barley."},
    ],
    "relationships": [
        {"source": "Thrips", "target": "Oslin barley", "description": "They eat it.", "strength": 7}
    ],
}
TEXT = "Sorrel root slows the thrips. The thrips live on Oslin barley."
FOUND = {
    "json_schema": json.dumps(
        {
            "entities": [{"name": "Sorrel root", "type": "crop", "description": "Slows thrips."}],
            "relationships": [],
        }
    ),
    "tuples": '("entity"<|>Sorrel root<|>CROP<|>Slows thrips.)\n<|COMPLETE|>',
}
#: What decides a reply; whether it is streamed does not.
DECIDING = ("messages", "response_format", "logit_bias", "temperature")
#: Hashes of the conversations without labels: the settings of labels leave them, and cached replies, as they are.
BEFORE = {
    ("json_schema", False): "6dd88327f0b4f1b9",
    ("json_schema", True): "3166651216bce4e5",
    ("tuples", False): "27dbc6b94f8e2434",
    ("tuples", True): "f5adbf1568526215",
}


@pytest.mark.parametrize(("replies", "shown"), BEFORE)
def test_where_no_labels_are_wanted_requests_are_what_they_were(
    model_of: Callable[..., Any], replies: str, shown: bool
) -> None:
    def script(body: dict[str, Any]) -> Scripted | str:
        return Scripted("YES", "length") if body.get("max_tokens") == 1 else FOUND[replies]

    with ScriptedEndpoint(script) as endpoint:
        extractor = LlmGraphExtractor(
            model_of(endpoint),
            entity_types=["crop", "pest"],
            examples=[GraphExample.model_validate(EXAMPLE)] if shown else [],
            gleaning_rounds=1,
            replies=replies,  # type: ignore[typeddict-item]
        )
        (found,) = extractor.extract([TextUnit("u", TEXT)])
        bodies = [{key: chat.body.get(key) for key in DECIDING} for chat in endpoint.chats]
    assert (found.state, len(bodies)) == ("extracted", 3)
    assert hashlib.sha256(json.dumps(bodies).encode()).hexdigest()[:16] == BEFORE[replies, shown]


def labelled(model: Any, replies: str, examples: Any = ()) -> LlmGraphExtractor:
    return LlmGraphExtractor(
        model,
        entity_types=["crop", "pest"],
        examples=examples,
        relation_labels=True,
        gleaning_rounds=0,
        replies=replies,  # type: ignore[typeddict-item]
    )


def read(model_of: Callable[..., Any], replies: str, reply: str) -> UnitExtraction:
    with ScriptedEndpoint(lambda body: reply) as endpoint:
        (found,) = labelled(model_of(endpoint), replies).extract([TextUnit("u", TEXT)])
    return found


def as_json(**fields: object) -> str:
    ends = {"source": "Sorrel root", "target": "Thrips"}
    relation = {**ends, **{name: value for name, value in fields.items() if value is not None}}
    return json.dumps({"entities": [], "relationships": [relation]})


@pytest.mark.parametrize(
    ("replies", "reply", "label", "description", "repaired"),
    [
        ("json_schema", as_json(relation="Slows Down", description="It slows.", strength=3), "slows_down", "It slows.", 0),
        ("json_schema", as_json(relation="related_to", description="It slows.", strength=3), "related_to", "It slows.", 0),
        ("json_schema", as_json(relation="9", description="It slows.", strength=3), "related_to", "It slows.", 1),
        ("json_schema", as_json(relation=None, description="It slows.", strength=3), "related_to", "It slows.", 1),
        ("json_schema", as_json(predicate="slows", description="It slows.", strength=3), "related_to", "It slows.", 1),
        ("json_schema", as_json(relation="slows", strength=3), "slows", "", 1),
        ("json_schema", as_json(relation=TEXT, description="It slows.", strength=3), "related_to", "It slows.", 1),
        ("tuples", '("relationship"<|>Sorrel root<|>Thrips<|>slows<|>It slows.<|>3)', "slows", "It slows.", 0),
        ("tuples", '("relationship"<|>Sorrel root<|>Thrips<|>It slows.<|>3)', "related_to", "It slows.", 1),
        ("tuples", '("relationship"<|>Sorrel root<|>Thrips<|>--<|>It slows.<|>3)', "related_to", "It slows.", 1),
    ],
)  # fmt: skip
def test_labels_are_read_or_mended(
    model_of: Callable[..., Any], replies: str, reply: str, label: str, description: str, repaired: int
) -> None:
    ending = "" if replies == "json_schema" else "<|COMPLETE|>"
    found = read(model_of, replies, reply + ending)
    (one,) = found.relationships
    assert (one.relation, one.description, one.strength) == (label, description, 3)
    assert found.repaired == repaired
    assert found.quarantined == ()


@pytest.mark.parametrize("replies", ["json_schema", "tuples"])
def test_the_example_of_the_prompt_shows_labels_in_the_form_that_is_asked_for(
    model_of: Callable[..., Any], replies: str
) -> None:
    system = labelled(model_of(None), replies).first_request("x").messages[0].content
    with ScriptedEndpoint(lambda body: system.rpartition("Reply:\n")[2]) as endpoint:
        text = "Marrow Lane Bakery opened in Ostrefield. Its founder, Ilka Venn, had learned from Tobin."
        (found,) = labelled(model_of(endpoint), replies).extract([TextUnit("u", text)])
        schema = endpoint.chats[0].body.get("response_format")
    assert [one.relation for one in found.relationships] == ["founded", "opened_in", "learned_trade_from"]
    assert found.state == "extracted"
    assert (schema is None) == (replies == "tuples")
    assert schema is None or "relation" in json.dumps(schema)


@pytest.mark.parametrize("replies", ["json_schema", "tuples"])
def test_examples_of_the_corpus_show_their_labels(model_of: Callable[..., Any], replies: str) -> None:
    (relation,) = EXAMPLE["relationships"]
    example = GraphExample.model_validate({**EXAMPLE, "relationships": [{**relation, "relation": "Feed On"}]})
    system = labelled(model_of(None), replies, [example]).first_request("x").messages[0].content
    assert "feed_on" in system.rpartition("Reply:\n")[2]
    with ScriptedEndpoint(lambda body: system.rpartition("Reply:\n")[2]) as endpoint:
        (found,) = labelled(model_of(endpoint), replies).extract([TextUnit("u", EXAMPLE["text"])])
    assert [one.relation for one in found.relationships] == ["feed_on"]


def test_an_example_without_a_label_is_refused_where_labels_are_wanted() -> None:
    (relation,) = EXAMPLE["relationships"]
    own = {"entity_types": ["crop", "pest"], "examples": [EXAMPLE]}
    settings = parse_settings({"extraction": own}, "x").extraction
    assert "relation" not in settings.model_dump()["examples"][0]["relationships"][0]
    with pytest.raises(SettingsError, match=r"examples.0.relationships.0 has no relation"):
        parse_settings({"extraction": {**own, "relation_labels": True}}, "x")
    wrong = {**EXAMPLE, "relationships": [{**relation, "relation": "12"}]}
    with pytest.raises(SettingsError, match="should be a label of at most 8 words"):
        parse_settings({"extraction": {**own, "examples": [wrong]}}, "x")
    named = {**EXAMPLE, "relationships": [{**relation, "relation": "eat"}]}
    asked = parse_settings({"extraction": {**own, "examples": [named], "relation_labels": True}}, "x")
    assert asked.extraction.model_dump()["examples"][0]["relationships"][0]["relation"] == "eat"
