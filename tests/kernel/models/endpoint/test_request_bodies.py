"""Bodies of chat requests: what they ask of an endpoint, by what it can do."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message, Refused
from graphrag_dagster.kernel.models.chat.reply_schemas import GraphShape
from graphrag_dagster.kernel.models.endpoint.request_bodies import Capabilities, chat_body
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import Fault, ScriptedEndpoint


def test_a_list_has_room_for_twice_the_records_that_are_expected() -> None:
    settings = ModelSettings(base_url="http://127.0.0.1:1/v1", name="m")

    def lists(expected: int, capabilities: Capabilities) -> list[int | None]:
        asked = ChatRequest("extract_graph", (Message("user", "x"),), 4000, GraphShape, expected=expected)
        schema = chat_body(settings, asked, capabilities)["response_format"]["json_schema"]["schema"]
        return [inner.get("maxItems") for inner in schema["properties"].values()]

    assert lists(600, Capabilities()) == [40, 40]
    assert lists(100, Capabilities()) == [20, 20]
    assert lists(0, Capabilities()) == [None, None]
    left = Capabilities().without("Invalid schema: 'maxItems' is not permitted.")
    assert left is not None
    assert (lists(600, left), left.format) == ([None, None], "json_schema")


@pytest.mark.parametrize(
    ("said", "stream"),
    [
        ("Streaming is not supported by this model.", False),
        ("Unknown parameter: 'stream_options'", False),
        ("`stream` must be false", False),
        ("The upstream provider rejected this.", True),
        ("downstream_error", True),
        ("bitstream v2 refused it", True),
    ],
)
def test_streaming_is_given_up_where_the_endpoint_names_it(said: str, stream: bool) -> None:
    left = Capabilities().without(said, "https://upstream.example/stream/v1")
    assert (left is None, left is not None and left.stream) == (stream, False)


@pytest.mark.parametrize("words", ["upstream", "stream", "temperature", "json_schema/logit_bias"])
def test_words_of_our_own_url_tell_nothing_of_an_endpoint(model_of: Callable[..., Any], words: str) -> None:
    """Every path of the server is the same to it."""
    with ScriptedEndpoint(faults=[Fault(400, "no")]) as endpoint:
        model = model_of(f"{endpoint.url.removesuffix('/v1')}/{words}/v1")
        with pytest.raises(Refused):
            asyncio.run(model.complete(ChatRequest("hello", (Message("user", "Hi?"),), 50)))
    assert len(endpoint.requests) == 1


def test_only_openais_own_host_is_openais() -> None:
    elsewhere = "https://gateway.example/api.openai.com/v1"
    ways = [
        Capabilities().with_less_reasoning(url).silence for url in ("https://api.openai.com/v1", elsewhere)
    ]
    assert ways == ["none", "template"]
