"""Labels of relations: asked of a model only where they are wanted."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster import prompts
from graphrag_dagster.core.language.exemplars import GraphExample
from graphrag_dagster.core.language.llm.extraction.graph import LlmGraphExtractor
from graphrag_dagster.core.language.tasks import TextUnit
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
#: Hashes of the conversations that were held before there were labels: who was asked so is not asked again.
BEFORE = {
    ("json_schema", False): "e62961dbc3a96e7c",
    ("json_schema", True): "14a20c35851f0ab9",
    ("tuples", False): "9f8efcf43a4a1160",
    ("tuples", True): "4771676ab6401a30",
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
            prompts,
            entity_types=["crop", "pest"],
            examples=[GraphExample.model_validate(EXAMPLE)] if shown else [],
            gleaning_rounds=1,
            replies=replies,  # type: ignore[typeddict-item]
        )
        (found,) = extractor.extract([TextUnit("u", TEXT)])
        bodies = [{key: chat.body.get(key) for key in DECIDING} for chat in endpoint.chats]
    assert (found.state, len(bodies)) == ("extracted", 3)
    assert hashlib.sha256(json.dumps(bodies).encode()).hexdigest()[:16] == BEFORE[replies, shown]
