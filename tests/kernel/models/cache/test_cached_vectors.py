"""Vectors are remembered by text, whatever batch they came in."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_dagster.errors import EndpointError, VectorLengthError
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cached_embedder import CachedEmbedder
from graphrag_dagster.kernel.models.cache.llm_cache import Replies, User, vector_key
from graphrag_dagster.kernel.models.cache.usage_account import UsageAccount, UsageLog
from graphrag_dagster.kernel.models.endpoint import request_bodies as bodies
from graphrag_dagster.kernel.models.model_costs import Budget
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import Fault, ScriptedEndpoint

TEXTS = [f"word{n} and more" for n in range(10)]


def sent(endpoint: ScriptedEndpoint) -> list[str]:
    return [text for one in endpoint.requests for text in one.body["input"]]


def test_each_text_is_sent_once_whatever_the_batch(memory: Any) -> None:
    with ScriptedEndpoint() as endpoint:
        first = memory.embedder(endpoint, batch=3).embed(TEXTS[:6])
        both = memory.embedder(endpoint, batch=4).embed([*TEXTS[::-1], "", TEXTS[0]])
        again = memory.embedder(endpoint).embed(TEXTS)
    assert sorted(sent(endpoint)) == sorted(TEXTS)
    assert np.array_equal(both[:10][::-1], again)
    assert np.array_equal(first, again[:6])
    assert not both[10].any()
    assert np.array_equal(both[11], again[0])
    assert np.allclose(np.linalg.norm(again, axis=1), 1, atol=1e-6)
    assert again.dtype == np.float32


@settings(max_examples=12, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*TEXTS, "", " "]), max_size=8), max_size=5), st.integers(1, 4))
def test_vectors_are_the_same_with_and_without_memory(asked: list[list[str]], batch: int) -> None:
    with tempfile.TemporaryDirectory() as folder, ScriptedEndpoint() as endpoint:
        database = Database(Path(folder) / "m.db")
        fresh = _of(endpoint, Replies(database), UsageLog(database), batch)
        plain = {text: endpoint.vector(text) for text in TEXTS}
        for texts in asked:
            made = fresh.embed(texts)
            assert made.shape == (len(texts), 16)
            for row, text in zip(made, texts, strict=True):
                expected = np.array(plain.get(text, [0.0] * 16))
                norm = np.linalg.norm(expected) or 1.0
                assert np.allclose(row, expected / norm, atol=1e-6)
        texts_sent = [text for text in sent(endpoint) if text != "dimension"]
        assert len(texts_sent) == len(set(texts_sent))
        database.close()


def _of(endpoint: ScriptedEndpoint, replies: Any, log: Any, batch: int) -> Any:
    chosen = ModelSettings(base_url=endpoint.url)
    account = UsageAccount(User("c", "a", "r1"), replies, log, Budget())
    return CachedEmbedder("embed-1", chosen, account, batch_size=batch)


def test_what_came_before_a_failure_is_kept(memory: Any) -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(400, "no") if TEXTS[9] in body["input"] and not mended else None

    mended: list[bool] = []
    with ScriptedEndpoint(faults=faults) as endpoint:
        with pytest.raises(EndpointError, match="rejected the request"):
            memory.embedder(endpoint, batch=1, concurrency=1).embed(TEXTS)
        kept = memory.count("vectors")
        assert kept == 9
        mended.append(True)
        memory.embedder(endpoint, batch=1).embed(TEXTS)
    assert len(sent(endpoint)) == 11
    assert memory.used().failed == 1


def test_a_failed_batch_gives_back_what_it_reserved(memory: Any) -> None:
    budget = Budget(max_tokens=10_000)
    with ScriptedEndpoint(faults=[Fault(404, "no")]) as endpoint, pytest.raises(EndpointError):
        memory.embedder(endpoint, memory.account(budget=budget)).embed(TEXTS)
    assert memory.reserved() == (0, 0)


def test_the_use_of_vectors_is_booked(memory: Any) -> None:
    with ScriptedEndpoint() as endpoint:
        memory.embedder(endpoint, batch=5, prices={"input": 2.0}).embed(TEXTS)
        memory.embedder(endpoint, prices={"input": 2.0}).embed(TEXTS[:4])
    use = memory.used()
    tokens = sum(one.input_tokens for one in endpoint.requests)
    assert (use.calls, use.cached, use.input_tokens, use.unpriced) == (2, 4, tokens, 0)
    assert use.usd == pytest.approx(tokens * 2e-6)


def test_keys_of_vectors_depend_on_model_namespace_and_text() -> None:
    keys = {vector_key(m, n, t) for m in ("a", "b") for n in ("", "x") for t in ("t", "u")}
    assert len(keys) == 8


def test_vectors_of_another_length_than_the_remembered_are_told(memory: Any) -> None:
    with ScriptedEndpoint(dimension=16) as endpoint:
        memory.embedder(endpoint).embed(TEXTS[:5])
    said = "embed-1 returned a vector of 8 numbers, .* have 16: .*set model.namespace"
    with ScriptedEndpoint(dimension=8) as endpoint, pytest.raises(VectorLengthError, match=said):
        memory.embedder(endpoint).embed(TEXTS)


def test_how_many_texts_an_endpoint_takes_is_remembered_beyond_the_process(memory: Any) -> None:
    def faults(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault(400, "batch size should not be larger than 6") if len(body["input"]) > 6 else None

    with ScriptedEndpoint(faults=faults) as endpoint:
        memory.embedder(endpoint).embed(TEXTS)
        assert max(len(one.body["input"]) for one in endpoint.requests) > 6
        assert memory.used().failed == 1
        bodies._known.clear()
        endpoint.reset()
        memory.embedder(endpoint).embed([f"{text}, again" for text in TEXTS])
        assert max(len(one.body["input"]) for one in endpoint.requests) == 5
