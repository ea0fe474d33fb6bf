"""Examples of a corpus's own domain fit together, or are refused with what is wrong."""

from typing import Any

import pytest
from pydantic import ValidationError

from graphrag_dagster.kernel.tasks.example_schemas import ClaimExample, ExampleEntity, GraphExample

BO = {"name": "Bo", "type": "person", "description": "A cook."}
CY = {"name": "Cy Ltd", "type": "firm", "description": "A firm."}
TIE = {"source": "Bo", "target": "CY LTD", "description": "He runs it."}
CLAIM = {"subject": "Bo", "type": "fraud", "description": "He lied.", "quotes": ["Bo lied"]}


def graph(**given: Any) -> GraphExample:
    return GraphExample.model_validate(
        {"text": "Bo runs Cy Ltd.", "entities": [BO, CY], "relationships": [TIE], **given}
    )


def claims(**given: Any) -> ClaimExample:
    example = {"text": "Bo lied to Cy.", "entities": ["Bo"], "claims": [CLAIM | given]}
    return ClaimExample.model_validate(example)


def test_names_are_compared_as_those_of_a_graph() -> None:
    assert graph().names == ("Bo", "Cy Ltd")
    assert claims(subject="BO").names == ("Bo",)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"relationships": [TIE, TIE | {"target": "Dee"}]}, "relationships.1 names 'Dee'"),
        ({"relationships": [TIE | {"source": "Dee"}]}, "relationships.0 names 'Dee'"),
        ({"entities": []}, "at least 1"),
        ({"entities": [BO, CY] * 20 + [BO]}, "at most 40"),
        ({"relationships": [TIE | {"strength": 0.5}]}, "greater than or equal to 1"),
        ({"relationships": [TIE | {"strength": 11}]}, "less than or equal to 10"),
        ({"text": "…"}, "no letter or digit"),
        ({"text": "a <|> b"}, "which separates the records"),
        ({"text": "a ## b"}, "contains '##'"),
        ({"relationships": [TIE | {"relation": "a b c d e f g h i"}]}, "at most 8 words"),
        ({"more": 1}, "Extra inputs"),
    ],
)
def test_an_example_of_a_graph_that_does_not_fit_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        graph(**given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"subject": "Cy"}, "claims.0.subject is 'Cy'"),
        ({"quotes": ["Bo lied", "Cy lied"]}, "not all in its text: 'Cy lied'"),
        ({"quotes": []}, "at least 1"),
        ({"start_date": "2020-1"}, "pattern"),
        ({"status": "MAYBE"}, "TRUE"),
    ],
)
def test_an_example_of_claims_that_does_not_fit_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        claims(**given)


def test_texts_are_on_one_line() -> None:
    assert ExampleEntity(name=" Bo\n\x00Li ", type="person", description="x").name == "Bo Li"


def test_as_many_records_as_are_allowed() -> None:
    assert len(graph(entities=[BO, CY] * 20).entities) == 40
    assert graph(relationships=[TIE | {"strength": 1}, TIE | {"strength": 10}]).relationships[0].strength == 1


def test_a_label_is_shown_where_there_is_one() -> None:
    labelled = graph(relationships=[TIE | {"relation": "Runs it"}])
    assert "relation" not in graph().model_dump()["relationships"][0]
    assert labelled.model_dump()["relationships"][0]["relation"] == labelled.relationships[0].relation
