import json

import openai
import pytest

from support.llama_server import LlamaServer, llama_server

__all__ = ["llama_server"]

ASK = [{"role": "user", "content": "Name a colour."}]
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "maxLength": 20}, "bright": {"type": "boolean"}},
    "required": ["colour", "bright"],
    "additionalProperties": False,
}


@pytest.fixture
def asked(llama_server: LlamaServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=llama_server.url, api_key="none", max_retries=0, timeout=60)


def test_a_real_model_answers_within_its_limit(asked: openai.OpenAI, llama_server: LlamaServer) -> None:
    assert [model.id for model in asked.models.list()] == [llama_server.model]
    made = asked.chat.completions.create(model=llama_server.model, messages=ASK, max_tokens=5, temperature=0)
    assert made.choices[0].message.content
    assert made.choices[0].finish_reason == "length"
    assert made.usage is not None
    assert (made.usage.completion_tokens, made.usage.prompt_tokens > 3) == (5, True)


def test_a_real_model_obeys_a_schema(asked: openai.OpenAI, llama_server: LlamaServer) -> None:
    made = asked.chat.completions.create(
        model=llama_server.model,
        messages=ASK,
        max_tokens=100,
        temperature=0,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "colour", "strict": True, "schema": SCHEMA},
        },
    )
    answer = json.loads(made.choices[0].message.content or "")
    assert {key: type(value) for key, value in answer.items()} == {"colour": str, "bright": bool}


def test_a_real_model_can_be_forced_to_a_token(asked: openai.OpenAI, llama_server: LlamaServer) -> None:
    said = set()
    for token in ("1000", "2000"):
        made = asked.chat.completions.create(
            model=llama_server.model, messages=ASK, max_tokens=1, temperature=0, logit_bias={token: 100}
        )
        said.add(made.choices[0].message.content)
    assert len(said) == 2


def test_a_real_server_streams_and_refuses_what_is_too_long(
    asked: openai.OpenAI, llama_server: LlamaServer
) -> None:
    stream = asked.chat.completions.create(
        model=llama_server.model,
        messages=ASK,
        max_tokens=5,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    assert sum(bool(chunk.choices and chunk.choices[0].delta.content) for chunk in chunks) >= 4
    assert chunks[-1].usage is not None
    with pytest.raises(openai.BadRequestError, match="exceeds the available context size"):
        asked.chat.completions.create(
            model=llama_server.model,
            messages=[{"role": "user", "content": "word " * (llama_server.context_tokens + 100)}],
        )


def test_a_real_model_gives_vectors(asked: openai.OpenAI, llama_server: LlamaServer) -> None:
    lengths = set()
    # The second text is longer than a physical batch of the server's defaults.
    for texts, encoding in ((["a harbour town", "a ship"], "float"), (["word " * 530], "base64")):
        made = asked.embeddings.create(
            model=llama_server.model,
            input=texts,
            encoding_format=encoding,  # type: ignore[arg-type]
        )
        assert sorted(one.index for one in made.data) == list(range(len(texts)))
        lengths |= {len(one.embedding) for one in made.data if encoding == "float"}
    assert len(lengths) == 1
