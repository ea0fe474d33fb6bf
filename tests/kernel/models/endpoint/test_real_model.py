"""Our own client with a real, very small model: its form is checked, never what it says."""

import json
from pathlib import Path

from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore
from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder
from graphrag_dagster.kernel.models.probing.endpoint_check import check_endpoint
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from graphrag_dagster.systems.graphrag.llm.summarization import DescriptionShape
from support.llama_server import LlamaServer, llama_server

__all__ = ["llama_server"]


def model_of(server: LlamaServer) -> OpenAIChatModel:
    return OpenAIChatModel(ModelSettings(base_url=server.url, name=server.model, concurrency=1))


def request(text: str, tokens: int) -> ChatRequest:
    return ChatRequest("summarize_descriptions", (Message("user", text),), tokens, DescriptionShape)


def test_a_typed_reply_has_the_shape_and_counts_its_tokens(llama_server: LlamaServer) -> None:
    reply = run_one(model_of(llama_server).complete(request("Describe a lighthouse in five words.", 200)))
    assert set(json.loads(reply.text)) == {"description"}
    assert reply.input_tokens > 5
    assert 0 < reply.output_tokens <= 200


def test_a_reply_is_heard_as_it_comes(llama_server: LlamaServer) -> None:
    heard: list[str] = []
    plain = ChatRequest("global_reduce", (Message("user", "Count from one to five."),), 24)
    reply = run_one(model_of(llama_server).complete(plain, heard.append))
    assert "".join(heard) == reply.text
    assert len(heard) > 1


def test_the_checkup_finds_that_a_schema_is_obeyed(llama_server: LlamaServer, tmp_path: Path) -> None:
    store = CapabilityStore(Database(tmp_path / "replies.sqlite"))
    assert run_one(check_endpoint(model_of(llama_server), store)).format == "json_schema"


def test_a_unit_ends_in_a_state_with_its_account(llama_server: LlamaServer) -> None:
    extractor = LlmGraphExtractor(
        model_of(llama_server),
        entity_types=["person", "geo"],
        gleaning_rounds=0,
        max_output_tokens=120,
    )
    (unit,) = extractor.extract([TextUnit("u0", "Ilse Maro keeps the light at Skerry Point.")])
    made = len(unit.entities) + len(unit.relationships)
    assert (unit.state in {"extracted", "repaired"}) == (made > 0)
    assert (unit.state == "quarantined") <= (len(unit.quarantined) > 0)
    assert unit.state == "extracted" or unit.reason
    assert unit.usage.input_tokens > 100


def test_vectors_are_of_length_one(llama_server: LlamaServer) -> None:
    settings = ModelSettings(base_url=llama_server.url)
    matrix = OpenAIEmbedder(llama_server.model, settings).embed(["a quay", "a harbour", ""])
    assert matrix.shape[0] == 3
    assert abs((matrix[0] ** 2).sum() - 1) < 1e-4
    assert not matrix[2].any()
