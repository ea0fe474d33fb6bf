"""Embeddings by the OpenAI client, unmodified, over a real socket."""

import base64
import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import openai
import polars as pl
import pytest
import tiktoken
from openai import OpenAI

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.service.settings import ServiceSettings
from support.endpoint import ScriptedEndpoint
from support.served import FaultyLibrary, serving, until
from support.vocabularies import write_vocabularies

TOKEN = secrets.token_urlsafe(24)


@pytest.fixture(scope="module")
def encoding(tmp_path_factory: pytest.TempPathFactory) -> tiktoken.Encoding:
    with pytest.MonkeyPatch.context() as patch:
        for variable, folder in write_vocabularies(tmp_path_factory.mktemp("vocabularies")).items():
            patch.setenv(variable, folder)
        return tiktoken.get_encoding("cl100k_base")


@pytest.fixture
def url(library: FaultyLibrary) -> Iterator[str]:
    settings = ServiceSettings(port=0, token=TOKEN, max_asks=1, queue_seconds=0.1, answer_seconds=1.0)
    with serving(library, settings) as place:
        yield f"{place}/v1"


@pytest.fixture
def client(url: str) -> OpenAI:
    return OpenAI(base_url=url, api_key=TOKEN, max_retries=0)


@pytest.fixture
def real(coast: Path) -> Iterator[OpenAI]:
    with serving(None, ServiceSettings(port=0)) as place:
        yield OpenAI(base_url=f"{place}/v1", api_key="none", max_retries=0)


def test_vectors_are_those_of_the_index(real: OpenAI, encoding: tiktoken.Encoding) -> None:
    units = Warehouse().read(tables.TEXT_CHUNKS, "coast").sort("text_unit_id")
    vectors = Warehouse().read(tables.TEXT_UNIT_EMBEDDINGS, "coast").sort("text_unit_id")
    wanted = vectors["vector"].to_numpy()
    texts = units["text"].to_list()
    tokens = sum(len(encoding.encode_ordinary(text)) for text in texts)
    # The client asks for base64 unless told otherwise.
    for given in ({}, {"encoding_format": "float"}, {"dimensions": wanted.shape[1]}):
        made = real.embeddings.create(model="coast", input=texts, **given)  # type: ignore[arg-type]
        got = np.array([one.embedding for one in made.data], dtype=np.float32)
        np.testing.assert_array_equal(got, wanted)
        assert [one.index for one in made.data] == list(range(len(texts)))
        assert (made.usage.prompt_tokens, made.usage.total_tokens) == (tokens, tokens)
        assert made.model == "coast"
    one = real.embeddings.create(model="coast:embeddings", input=texts[0]).data[0]
    np.testing.assert_array_equal(np.float32(one.embedding), wanted[0])
    static = real.embeddings.create(model="static", input=texts[0]).data[0]
    assert static.embedding == one.embedding


def test_tokens_are_the_text_that_they_are_of(
    client: OpenAI, library: FaultyLibrary, encoding: tiktoken.Encoding
) -> None:
    text = "Hanna Quill, <|endoftext|> 7 Ängste 🛶"
    tokens = encoding.encode_ordinary(text)
    client.embeddings.create(model="coast", input=tokens)
    client.embeddings.create(model="coast:queries", input=[tokens, encoding.encode_ordinary("b")])
    assert library.embedded == [("documents", text), ("queries", text, "b")]
    with pytest.raises(openai.BadRequestError, match="999999 is no token"):
        client.embeddings.create(model="coast", input=[999_999])


def test_base64_is_of_little_endian_float32(url: str) -> None:
    body = {"model": "coast", "input": ["ab"], "encoding_format": "base64"}
    told = httpx2.post(f"{url}/embeddings", json=body, headers={"Authorization": f"Bearer {TOKEN}"}).json()
    content = base64.b64decode(told["data"][0]["embedding"])
    assert content == np.array([2, 0.5, -1e-7], dtype="<f4").tobytes()


def test_what_embeds_is_listed_where_it_is_asked_for(client: OpenAI) -> None:
    listed = client.models.list()
    assert not [one.id for one in listed if "embeddings" in one.id or one.id == "static"]
    embedding = client.models.list(extra_query={"type": "embedding"})
    assert [one.id for one in embedding][:2] == ["coast:embeddings", "coast:queries"]
    assert [one.id for one in embedding][-1] == "static"
    kinds = {
        name: client.models.retrieve(name).model_dump()["type"]
        for name in ("coast", "coast:queries", "static")
    }
    assert kinds == {"coast": "chat", "coast:queries": "embedding", "static": "embedding"}


def test_what_cannot_be_embedded_is_told_as_openai_does(client: OpenAI, library: FaultyLibrary) -> None:
    create = client.embeddings.create
    for model, kind in (("nowhere", openai.NotFoundError), ("coast:local", openai.NotFoundError)):
        with pytest.raises(kind):
            create(model=model, input="a")
    with pytest.raises(openai.ConflictError, match="has not been indexed"):
        create(model="bare", input="a")
    with pytest.raises(openai.BadRequestError, match="3 dimensions, not 8"):
        create(model="coast", input="a", dimensions=8)
    for given in ("", [], [""], [[]], ["a"] * 2049, [-1], [1.5], {"a": 1}):
        with pytest.raises(openai.UnprocessableEntityError):
            create(model="coast", input=given)  # type: ignore[arg-type]
    with pytest.raises(openai.APIStatusError) as large:
        create(model="coast", input="x" * 1_000_001)
    assert large.value.status_code == 413
    library.error = EndpointError("the model endpoint went away; start it again")
    with pytest.raises(openai.APIStatusError, match="went away") as failed:
        create(model="coast", input="a")
    assert failed.value.status_code == 502
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").embeddings.create(model="coast", input="a")


def test_embedding_takes_its_turn_and_has_its_time(client: OpenAI, library: FaultyLibrary) -> None:
    library.gate.clear()
    with pytest.raises(openai.APIStatusError, match="more than 1 seconds") as slow:
        client.embeddings.create(model="coast", input="a")
    assert slow.value.status_code == 504
    # The thread that nobody waits for keeps the only place.
    with pytest.raises(openai.RateLimitError):
        client.embeddings.create(model="coast", input="a")
    library.gate.set()
    until(lambda: not library.running)
    assert client.embeddings.create(model="coast", input="a").data


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as made:
        yield made


def test_an_endpoint_that_embeds_is_accounted_and_asked_once(
    modelled: Path, endpoint: ScriptedEndpoint
) -> None:
    with serving(None, ServiceSettings(port=0)) as place:
        client = OpenAI(base_url=f"{place}/v1", api_key="none", max_retries=0)
        first = client.embeddings.create(model="coast", input="Who sailed at dawn?").data[0].embedding
        again = client.embeddings.create(model="coast", input="Who sailed at dawn?").data[0].embedding
    assert first == again
    booked = LLMCache().usage_log().table("coast").filter(pl.col("asset") == "ask", pl.col("task") == "embed")
    assert (booked["calls"].sum(), booked["cached"].sum()) == (1, 1)
    assert booked["input_tokens"].sum() > 0
