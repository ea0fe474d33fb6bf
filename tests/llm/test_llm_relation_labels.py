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
#: Hashes of the conversations that were held before there were labels: who was asked so is not asked again.
BEFORE = {
    ("json_schema", False): "80e9c552d8aa7f62",
    ("json_schema", True): "d24d5a957b4d3147",
    ("tuples", False): "9681be104e611e17",
    ("tuples", True): "d841c6a5e1f288a2",
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
        bodies = [chat.body for chat in endpoint.chats]
    assert (found.state, len(bodies)) == ("extracted", 3)
    assert hashlib.sha256(json.dumps(bodies).encode()).hexdigest()[:16] == BEFORE[replies, shown]
