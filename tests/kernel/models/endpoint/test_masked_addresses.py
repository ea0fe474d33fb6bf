"""What the query of an address holds is sent to the endpoint, and shown and stored nowhere."""

from pathlib import Path

import pytest

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.batch_store import RequestBatch, api_of
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_address import Address
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.credentials import redact, redacted_settings, shown_url
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore, models_of
from graphrag_dagster.kernel.tasks.language_resource import Language
from support.commands import Run
from support.endpoint import Fault, ScriptedEndpoint, name_pattern_script

VALUE = "hush-4711"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/v1", "https://host/v1"),
        ("https://host/v1?k=SECRET", "https://host/v1?k=***"),
        ("https://host/v1?a=SECRET&b=%73&c=", "https://host/v1?a=***&b=***&c=***"),
        ("https://host/v1?SECRET", "https://host/v1?***"),
        ("https://host/v1?a=1=SECRET#SECRET", "https://host/v1?a=***#***"),
        ("https://me:SECRET@host:8080/v1?a=SECRET;b=SECRET", "https://host:8080/v1?a=***"),
        ("https://host/v1?sk-abcdefghij0123456789=1", "https://host/v1?***"),
        ("http://[::1]:8000/v1?k=SECRET", "http://[::1]:8000/v1?k=***"),
        ("http://[SECRET/v1", "http://***"),
    ],
)
def test_every_value_of_a_query_is_masked(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_settings_are_stored_without_them() -> None:
    told = {
        "model": {
            "base_url": "https://h/v1?k=S",
            "tasks": {"judge": {"base_url": "https://h?z=S"}},
            "name": "m?a=1",
        },
        "cypher": {"uri": "bolt://h:7687?policy=S"},
        "prompt": "see https://h/?k=1 for more",
    }
    assert redacted_settings(told) == {
        "model": {
            "base_url": "https://h/v1?k=***",
            "tasks": {"judge": {"base_url": "https://h?z=***"}},
            "name": "m?a=1",
        },
        "cypher": {"uri": "bolt://h:7687?policy=***"},
        "prompt": "see https://h/?k=1 for more",
    }
    assert redact("model.query.api-version", "S") == "***"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
def test_no_error_tells_them(status: int) -> None:
    fault = Fault(status=status, message=f"bad k={VALUE}")
    with ScriptedEndpoint(lambda _: "yes", faults=[fault] * 9) as endpoint:
        for url in (f"{endpoint.url}?k={VALUE}", f"http://127.0.0.1:1/v1?k={VALUE}"):
            model = OpenAIChatModel(ModelSettings(base_url=url, name="m", retries=0, timeout_seconds=5))
            assert VALUE not in repr(model)
            with pytest.raises((EndpointError, CallFailed)) as told:
                run_one(model.complete(ChatRequest("answer", (Message("user", "hello"),), 10)))
            assert VALUE not in str(told.value)
            assert "?k=***" in str(told.value)


def test_an_index_leaves_them_in_no_file(home: Path, run: Run) -> None:
    folder = home / "corpora" / "names"
    folder.mkdir()
    (folder / "a.txt").write_text(
        "Orrin Vask worked for Brinefield Shipping in Port Ellery.", encoding="utf-8"
    )
    with ScriptedEndpoint(name_pattern_script) as endpoint:
        given = f'model: {{base_url: "{endpoint.url}?k={VALUE}", name: scripted, retries: 0}}\nengine: llm\n'
        (folder / "corpus.yaml").write_text(given, encoding="utf-8")
        assert run("index", "names")[0] == 0
        asked = (
            ["ask", "names", "Who is Orrin Vask?"],
            ["status", "names"],
            ["doctor", "names"],
            ["show", "names"],
        )
        told = "".join(part for command in asked for part in run(*command)[1:])
        assert {one.path.partition("?")[2] for one in endpoint.requests} == {f"k={VALUE}"}
    # The settings themselves have not changed.
    assert "model.base_url" not in run("status", "names")[1]
    assert VALUE not in told
    holding = [file for file in home.rglob("*") if file.is_file() and VALUE.encode() in file.read_bytes()]
    assert holding == [folder / "corpus.yaml"]


def test_a_batch_finds_its_address_in_the_settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "corpora" / "names"
    folder.mkdir()
    (folder / "corpus.yaml").write_text(
        f'model: {{tasks: {{extract: {{base_url: "http://127.0.0.1:9/v1?k={VALUE}", name: m}}}}}}\n',
        encoding="utf-8",
    )
    batch = RequestBatch(
        "b1", "http://127.0.0.1:9/v1?k=***", "K", "m", "names", "a", "r", "in_progress", 1, 0, 0.0
    )
    assert api_of(batch, models_of).url.endswith(f"?k={VALUE}")
    (folder / "corpus.yaml").unlink()
    with pytest.raises(EndpointError, match="set OPENAI_BASE_URL to that address"):
        api_of(batch, models_of)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:9/v1?k={VALUE}")
    assert api_of(batch, models_of).url.endswith(f"?k={VALUE}")


def test_no_representation_tells_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", VALUE)
    monkeypatch.setenv("OPENAI_API_KEY", VALUE)
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://me:{VALUE}@host.example/v1?code={VALUE}")
    headers = {"X-Auth": "$MY_TOKEN"}
    for settings in (
        ModelSettings(headers=headers, query={"code": VALUE}),
        ModelSettings(base_url=f"https://host.example/v1?code={VALUE}", headers=headers),
        ModelSettings(base_url="https://my.openai.azure.com/openai/v1", api_version="2024-10-21"),
    ):
        model = OpenAIChatModel(settings)
        options = Address(settings).client_options()
        assert options.query or options.headers
        shown = [
            repr(settings),
            repr(CorpusSettings(model=settings)),
            str(settings),
            repr(options),
            repr(model),
        ]
        assert not [one for one in shown if VALUE in one]
    assert VALUE not in repr(
        Language(memory=LLMCache(file=f"postgresql://me:{VALUE}@h/db"), corpora=CorpusStore())
    )
