"""Bodies of chat requests: what they ask of an endpoint, by what it can do."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message, Refused
from graphrag_dagster.kernel.models.endpoint.request_bodies import Capabilities
from support.endpoint import Fault, ScriptedEndpoint


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
    left = Capabilities().without(said)
    assert (left is None, left is not None and left.stream) == (stream, False)


@pytest.mark.parametrize("words", ["upstream", "stream", "temperature", "json_schema/logit_bias"])
def test_words_of_our_own_url_tell_nothing_of_an_endpoint(model_of: Callable[..., Any], words: str) -> None:
    """Every path of the server is the same to it."""
    with ScriptedEndpoint(faults=[Fault(400, "no")]) as endpoint:
        model = model_of(f"{endpoint.url.removesuffix('/v1')}/{words}/v1")
        with pytest.raises(Refused):
            asyncio.run(model.complete(ChatRequest("hello", (Message("user", "Hi?"),), 50)))
    assert len(endpoint.requests) == 1
