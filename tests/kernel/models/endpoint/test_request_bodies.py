"""Bodies of chat requests: what they ask of an endpoint, by what it can do."""

from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
from graphrag_dagster.kernel.models.chat.reply_schemas import GraphShape
from graphrag_dagster.kernel.models.endpoint.request_bodies import Capabilities, chat_body
from graphrag_dagster.kernel.settings.model_settings import ModelSettings


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
