"""Examples of a corpus's own domain in the prompts of extraction."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmClaimExtractor, LlmGraphExtractor
from graphrag_dagster.systems.graphrag.llm.record_parsing import read_json_records, read_tuple_records
from support.endpoint import ScriptedEndpoint

GRAPH = {
    "text": 'Sorrel root ("vermifuge") slows\nthe thrips on Oslin barley.',
    "entities": [
        {"name": "Sorrel root", "type": "remedy", "description": 'Called a "vermifuge".'},
        {"name": "Thrips", "type": "PEST", "description": "Insects on barley </source_text>."},
    ],
    "relationships": [
        {"source": "SORREL ROOT", "target": "Thrips", "description": "It slows them.", "strength": 7},
        {"source": "Thrips", "target": "Sorrel root", "description": "They shun it."},
    ],
}
CLAIM = {
    "text": "In 1931 Sorrel root slowed the thrips.",
    "entities": ["Sorrel root"],
    "claims": [
        {
            "subject": "sorrel root",
            "type": "EFFECT",
            "start_date": "1931",
            "description": "It slowed the thrips.",
            "quotes": ["In 1931 Sorrel root slowed the thrips."],
        }
    ],
}
TYPES = ["Remedy", "pest"]
FORMS = pytest.mark.parametrize("replies", ["json_schema", "tuples"])


def settings(**changes: Any) -> CorpusSettings:
    extraction = {"entity_types": TYPES, "examples": [GRAPH | changes]}
    return parse_settings({"extraction": extraction, "claims": {"examples": [CLAIM]}}, "corpus.yaml")


def graph_prompt(model: Any, replies: str, examples: Any) -> str:
    made = LlmGraphExtractor(model, entity_types=TYPES, examples=examples, replies=replies)  # type: ignore[arg-type]
    return made.first_request("x").messages[0].content


def claims_prompt(model: Any, replies: str, examples: Any) -> str:
    made = LlmClaimExtractor(model, claim_description="any", examples=examples, replies=replies)  # type: ignore[arg-type]
    return made.first_request(["A"], "x").messages[0].content


@FORMS
def test_without_examples_the_prompts_are_as_they_were(model_of: Callable[..., Any], replies: str) -> None:
    kind = "_tuples" if replies == "tuples" else ""
    model = model_of("http://127.0.0.1:9/v1")
    assert graph_prompt(model, replies, ()) == prompts.load(f"extract_graph{kind}_system").text
    described = prompts.load(f"extract_claims{kind}_system").render(description="any")
    assert claims_prompt(model, replies, ()) == described


@FORMS
def test_examples_stand_in_place_of_the_general_one_as_replies_that_can_be_read(
    model_of: Callable[..., Any], replies: str
) -> None:
    made, model = settings(), model_of("http://127.0.0.1:9/v1")
    prompt = graph_prompt(model, replies, made.extraction.examples * 2)
    assert "Marrow Lane" not in prompt
    assert prompt.startswith(prompts.load("extract_graph_system").text[:30])
    assert "Example 2. Wanted types: REMEDY, PEST. Text:" in prompt
    assert "&lt;/source_text>" in prompt
    reply = prompt.rpartition("Reply:\n")[2]
    raw, repaired = (
        read_tuple_records(reply, ("entity", "relationship"), gleaning=False)
        if replies == "tuples"
        else read_json_records(reply, ("entity", "relationship"))
    )
    assert not repaired
    assert not raw.bad
    told = [tuple(record.fields.values()) for record in raw.records]
    assert [str(one[-1]) for one in told if "It slows them." in one] == ["7"]
    assert [one[1] for one in told[:2]] == ["REMEDY", "PEST"]
    claims = claims_prompt(model, replies, made.claims.examples)
    assert "Example 1. Entities: Sorrel root. Text:" in claims
    reader = read_tuple_records if replies == "tuples" else None
    reply = claims.rpartition("Reply:\n")[2]
    found = reader(reply, ("claim",), gleaning=False) if reader else read_json_records(reply, ("claim",))
    (claim,) = found[0].records
    assert claim.text("start_date") == "1931"


@FORMS
def test_a_reply_that_copies_an_example_of_the_corpus_is_not_used(
    model_of: Callable[..., Any], replies: str
) -> None:
    def copied(body: dict[str, Any]) -> str:
        return str(body["messages"][0]["content"]).rpartition("Reply:\n")[2]

    with ScriptedEndpoint(copied) as endpoint:
        extractor = LlmGraphExtractor(
            model_of(endpoint),
            entity_types=TYPES,
            examples=settings().extraction.examples,
            replies=replies,  # type: ignore[arg-type]
            gleaning_rounds=0,
        )
        (unit,) = extractor.extract([TextUnit("u", "The ferry sank.")])
        (named,) = extractor.extract([TextUnit("v", "Sorrel root kills thrips.")])
    assert unit.state == "quarantined"
    assert "copied from the example of the prompt" in (unit.reason or "")
    assert [one.name for one in named.entities] == ["SORREL ROOT", "THRIPS"]


ENTITY = GRAPH["entities"][0]
BAD: list[tuple[dict[str, Any], list[str]]] = [
    ({"text": " \n"}, ["extraction.examples.0.text", "no letter"]),
    ({"text": "x" * 4001}, ["extraction.examples.0.text", "4000"]),
    ({"entities": []}, ["extraction.examples.0.entities", "at least 1"]),
    ({"entities": [ENTITY] * 41}, ["extraction.examples.0.entities", "at most 40"]),
    ({"entities": [ENTITY | {"name": "a <|> b"}], "relationships": []}, ["examples.0.entities.0.name", "'<|'"]),
    ({"entities": [ENTITY | {"type": "ship"}], "relationships": []}, ["examples.0.entities.0.type is 'ship'", "Remedy, pest"]),
    ({"entities": [ENTITY | {"kind": "x"}]}, ["extraction.examples.0.entities.0.kind is not a setting", "description, name, type"]),
    ({"relationships": [{"source": "Sorrel root", "target": "Aphids", "description": "It"}]}, ["examples.0", "relationships.0 names 'Aphids'"]),
    ({"relationships": [{"source": "Thrips", "target": "Thrips", "description": "It", "strength": 11}]}, ["relationships.0.strength", "less than or equal to 10"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), BAD)
def test_a_bad_example_is_named_by_its_place(changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(SettingsError) as error:
        settings(**changes)
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"quotes": ["It slowed the thrips."]}, "claims.0.quotes are not all in its text: 'It slowed"),
        ({"subject": "Aphids"}, "claims.0.subject is 'Aphids', which is not among its entities"),
        ({"start_date": "May 1931"}, "claims.examples.0.claims.0.start_date"),
        ({"status": "MAYBE"}, "allowed: 'TRUE', 'FALSE' or 'SUSPECTED'"),
    ],
)
def test_a_bad_example_of_claims_is_named_by_its_place(changes: dict[str, Any], words: str) -> None:
    one = json.loads(json.dumps(CLAIM))
    one["claims"][0] |= changes
    with pytest.raises(SettingsError, match=r"claims\.examples\.0") as error:
        parse_settings({"claims": {"examples": [one]}}, "corpus.yaml")
    assert words in str(error.value)
