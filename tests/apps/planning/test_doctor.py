import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.apps.planning.doctor import examine, verdict
from graphrag_dagster.cli.commands.doctor_commands import doctor
from graphrag_dagster.cli.result import show
from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint import request_bodies as bodies
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.endpoint.request_bodies import Capabilities, capabilities_of
from graphrag_dagster.kernel.models.probing.capability_probes import ProbeFinding
from graphrag_dagster.kernel.models.probing.endpoint_check import check_endpoint
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import Fault, Scripted, ScriptedEndpoint, name_pattern_script
from support.llama_server import LlamaServer, llama_server

__all__ = ["llama_server"]

KEY = "sk-quite-secret-7291"
PROSE = "The peel of a ripe lemon is yellow."


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    # A port may be that of another test's endpoint.
    monkeypatch.setattr(bodies, "_known", {})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CapabilityStore]:
    database = Database(tmp_path / "replies.sqlite")
    yield CapabilityStore(database)
    database.close()


def model_at(endpoint: ScriptedEndpoint | str, **settings: Any) -> OpenAIChatModel:
    url = endpoint if isinstance(endpoint, str) else endpoint.url
    chosen = {"name": "gpt-4.1-mini", "retries": 1, "timeout_seconds": 10.0, **settings}
    return OpenAIChatModel(ModelSettings(base_url=url, **chosen), first_wait=0.01)


def settings_at(endpoint: ScriptedEndpoint | str, **more: Any) -> CorpusSettings:
    url = endpoint if isinstance(endpoint, str) else endpoint.url
    model = {"base_url": url, "name": "gpt-4.1-mini", "timeout_seconds": 10.0, **more.pop("model", {})}
    return parse_settings({"engine": "llm", "model": model, **more}, "the settings")


def found(endpoint: ScriptedEndpoint | str, **more: Any) -> dict[str, ProbeFinding]:
    findings = run_one(examine(settings_at(endpoint, **more)))
    assert all(one.endpoint for one in findings)
    return {one.probe: one for one in findings}


def prose(_: dict[str, Any]) -> str:
    return PROSE


def only_shown_schemas(body: dict[str, Any]) -> Scripted | str:
    """A server that takes a JSON schema and does not look at it."""
    if (body.get("response_format") or {}).get("type") == "json_schema":
        return PROSE
    return name_pattern_script(body)


def other_json(body: dict[str, Any]) -> Scripted | str:
    return '{"answer": "yellow"}' if "response_format" in body else name_pattern_script(body)


def reasoning_until_silenced(body: dict[str, Any]) -> Scripted | str:
    made = name_pattern_script(body)
    if (body.get("chat_template_kwargs") or {}).get("enable_thinking") is False:
        return made
    reply = made if isinstance(made, Scripted) else Scripted(made)
    return replace(reply, reasoning="Let me think about this for quite a while. " * 10)


def test_a_good_endpoint_costs_one_small_call_and_then_none(store: CapabilityStore) -> None:
    with ScriptedEndpoint(obey_limit=True) as endpoint:
        model = model_at(endpoint)
        assert run_one(check_endpoint(model, store)) == Capabilities()
        assert len(endpoint.requests) == 1
        assert endpoint.chats[0].body["max_tokens"] <= 64
        bodies._known.clear()
        assert run_one(check_endpoint(model, store)) == Capabilities()
        assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("unsupported", "script", "way", "calls"),
    [
        (["response_format.json_schema"], name_pattern_script, "json_object", 2),
        (["response_format"], name_pattern_script, "text", 3),
        ([], only_shown_schemas, "json_object", 2),
        ([], other_json, "text", 3),
        (["max_tokens", "temperature"], name_pattern_script, "json_schema", 3),
    ],
)
def test_the_best_way_to_json_is_found_and_kept(
    store: CapabilityStore, unsupported: list[str], script: Callable[..., Any], way: str, calls: int
) -> None:
    with ScriptedEndpoint(script, unsupported=unsupported) as endpoint:
        model = model_at(endpoint)
        assert run_one(check_endpoint(model, store)).format == way
        assert len(endpoint.requests) == calls
        bodies._known.clear()
        assert run_one(check_endpoint(model, store)).format == way
        assert capabilities_of(endpoint.url, model.name).format == way
        assert len(endpoint.requests) == calls


def test_a_real_small_model_passes_with_one_call(store: CapabilityStore, llama_server: LlamaServer) -> None:
    model = model_at(llama_server.url, name=llama_server.model, timeout_seconds=60.0)
    assert run_one(check_endpoint(model, store)) == Capabilities()


def test_what_a_server_fails_on_is_not_asked_of_it(store: CapabilityStore) -> None:
    def crashes(_: int, body: dict[str, Any]) -> Fault | None:
        form = body.get("response_format") or {}
        return Fault(500, "grammar crashed") if form.get("type") == "json_schema" else None

    with ScriptedEndpoint(faults=crashes) as endpoint:
        assert run_one(check_endpoint(model_at(endpoint), store)).format == "json_object"


def test_a_model_that_reasons_gets_room_and_is_silenced(store: CapabilityStore) -> None:
    with ScriptedEndpoint(reasoning_until_silenced, obey_limit=True) as endpoint:
        known = run_one(check_endpoint(model_at(endpoint), store))
        assert (known.format, known.silence) == ("json_schema", "template")
        assert [one.body["max_tokens"] for one in endpoint.chats] == [64, 1000]


@pytest.mark.parametrize(("script", "said"), [(prose, "no usable JSON"), (lambda _: "", "an empty reply")])
def test_a_hopeless_endpoint_is_refused_before_anything_is_spent(
    store: CapabilityStore, script: Callable[..., Any], said: str
) -> None:
    with ScriptedEndpoint(script) as endpoint:
        model = model_at(endpoint)
        with pytest.raises(EndpointError, match=said) as caught:
            run_one(check_endpoint(model, store))
        # A failed call alone would be put aside, and the next one sent.
        assert not isinstance(caught.value, CallFailed)
        for word in ("json_schema", "json_object", "text", "model.name", "doctor"):
            assert word in str(caught.value)
        assert len(endpoint.chats) <= 6
        assert store.get(endpoint.url, model.name) is None
        assert capabilities_of(endpoint.url, model.name) == Capabilities()


def test_tuples_need_no_json(store: CapabilityStore) -> None:
    with ScriptedEndpoint(prose) as endpoint:
        assert run_one(check_endpoint(model_at(endpoint, replies="tuples"), store)).format == "text"


def test_a_model_that_is_not_there_is_told_with_those_that_are(store: CapabilityStore) -> None:
    with (
        ScriptedEndpoint(models=["one", "two"], strict_models=True) as endpoint,
        pytest.raises(EndpointError, match=r"no model gpt-4.1-mini.*it has these models: one, two"),
    ):
        run_one(check_endpoint(model_at(endpoint), store))


def test_an_endpoint_that_fails_at_every_call_ends_the_run(store: CapabilityStore) -> None:
    with ScriptedEndpoint(faults=lambda *_: Fault(500)) as endpoint:
        with pytest.raises(EndpointError, match="answered 500") as caught:
            run_one(check_endpoint(model_at(endpoint), store))
        assert not isinstance(caught.value, CallFailed)


def test_what_this_process_learned_itself_stands(store: CapabilityStore) -> None:
    with ScriptedEndpoint() as endpoint:
        model = model_at(endpoint)
        run_one(check_endpoint(model, store))
        learned = Capabilities(logit_bias=False)
        bodies.set_capabilities(endpoint.url, model.name, learned)
        assert run_one(check_endpoint(model, store)) == learned


def test_abilities_are_kept_for_a_day_and_unknown_ones_are_forgotten(
    store: CapabilityStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Capabilities(format="text", silence="none", limit="max_completion_tokens")
    store.put("http://here/v1", "m", kept)
    store.put("http://here/v1", "n", replace(kept, format="xml"))  # type: ignore[arg-type]
    assert store.get("http://here/v1", "m") == kept
    assert store.get("http://here/v1", "n") is None
    assert store.get("http://there/v1", "m") is None
    monkeypatch.setattr("graphrag_dagster.kernel.models.cache.llm_cache._KEPT_SECONDS", -1.0)
    assert store.get("http://here/v1", "m") is None


def test_all_is_well() -> None:
    with ScriptedEndpoint(models=["gpt-4.1-mini"], obey_limit=True, strict_models=True) as endpoint:
        findings = run_one(examine(settings_at(endpoint)))
        assert verdict(findings) == "ready"
        by_probe = {one.probe: one for one in findings}
        works = {probe for probe, one in by_probe.items() if one.verdict == "works"}
        assert works == {
            "reachable", "model", "chat", "hidden reasoning", "JSON", "output limit",
            "context length",
        }  # fmt: skip
        assert by_probe["embeddings"].verdict == "skipped"
        assert "extract, resolve, summarise, report, answer" in by_probe["chat"].endpoint
        assert len(endpoint.requests) < 25


@pytest.mark.parametrize(
    ("server", "verdicts"),
    [
        ({"unsupported": ["response_format.json_schema"]}, {"JSON": "fallback"}),
        ({"script": only_shown_schemas}, {"JSON": "fallback"}),
        ({"script": other_json}, {"JSON": "fallback"}),
        ({"unsupported": ["temperature"]}, {"temperature": "fallback"}),
        ({"obey_limit": False}, {"output limit": "fails"}),
        ({"models": ["another"]}, {"model": "fallback", "chat": "works"}),
    ],
)
def test_what_is_lacking_has_a_fallback(server: dict[str, Any], verdicts: dict[str, str]) -> None:
    with ScriptedEndpoint(**{"models": ["gpt-4.1-mini"], "obey_limit": True, **server}) as endpoint:
        by_probe = found(endpoint)
    assert {probe: by_probe[probe].verdict for probe in verdicts} == verdicts
    assert verdict(list(by_probe.values())) == "usable"
    assert all(one.consequence for one in by_probe.values() if one.verdict in {"fallback", "fails"})


@pytest.mark.parametrize(
    ("overflow", "said"), [("truncate", "only 3,000 arrived"), ("error", "maximum context length is 3000")]
)
def test_a_context_that_is_too_short_is_found(overflow: Any, said: str) -> None:
    with ScriptedEndpoint(context_tokens=3000, overflow=overflow, obey_limit=True) as endpoint:
        by_probe = found(endpoint)
        small = found(
            endpoint,
            reports={"context_tokens": 500},
            search={"context_tokens": 500},
            graph={"max_input_tokens": 500},
            text_units={"size": 100, "overlap": 0},
        )
    assert by_probe["context length"].verdict == "fails"
    assert said in by_probe["context length"].found
    for mend in ("num_ctx", "--ctx-size", "text_units.size", "reports.context_tokens"):
        assert mend in by_probe["context length"].consequence
    assert verdict(list(by_probe.values())) == "unusable"
    assert small["context length"].verdict == "works"


def test_a_model_that_repeats_no_code_word_still_has_the_context() -> None:
    def forgetful(body: dict[str, Any]) -> Scripted | str:
        reply = name_pattern_script(body)
        return "I do not know." if "NEEDLE" in str(reply) else reply

    def uncounted(body: dict[str, Any]) -> Scripted:
        reply = name_pattern_script(body)
        assert isinstance(reply, str)
        return Scripted(reply, input_tokens=0)

    with ScriptedEndpoint(forgetful, obey_limit=True) as endpoint:
        assert "repeats only part" in found(endpoint)["context length"].consequence
    with ScriptedEndpoint(uncounted, context_tokens=3000, overflow="truncate") as endpoint:
        assert found(endpoint)["context length"].verdict == "fails"


def test_reasoning_is_seen_and_silenced_or_told() -> None:
    with ScriptedEndpoint(reasoning_until_silenced, obey_limit=True) as endpoint:
        told = found(endpoint)
        assert "disabled by chat_template_kwargs" in told["hidden reasoning"].found
        assert told["JSON"].verdict == told["context length"].verdict == "works"
        left = found(endpoint, model={"reasoning": "default"})["hidden reasoning"]
        assert (left.verdict, left.found) == ("works", "seen")
    refused = ["chat_template_kwargs", "reasoning_effort"]
    with ScriptedEndpoint(reasoning_until_silenced, unsupported=refused) as endpoint:
        assert found(endpoint)["hidden reasoning"].verdict == "fallback"


def test_embeddings_are_probed_where_the_endpoint_makes_them() -> None:
    own = {"embeddings": {"embedder": "endpoint", "model": "vectors"}}
    with ScriptedEndpoint(dimension=24) as endpoint:
        assert "24 numbers" in found(endpoint, **own)["embeddings"].found
    with ScriptedEndpoint(models=["gpt-4.1-mini"], strict_models=True) as endpoint:
        findings = found(endpoint, **own)
    assert findings["embeddings"].verdict == "fails"
    assert "embeddings.model" in findings["embeddings"].consequence
    assert verdict(list(findings.values())) == "unusable"


def test_a_wrong_model_is_told_with_those_that_there_are() -> None:
    with ScriptedEndpoint(models=["one", "two"], strict_models=True) as endpoint:
        findings = found(endpoint)
    assert findings["reachable"].verdict == "works"
    assert (findings["model"].verdict, findings["context length"].verdict) == ("fails", "skipped")
    assert "one, two" in findings["model"].consequence
    assert verdict(list(findings.values())) == "unusable"


def test_each_distinct_model_is_probed_once() -> None:
    with ScriptedEndpoint(obey_limit=True) as endpoint:
        tasks = {"report": {"name": "gpt-4o"}, "answer": {"name": "gpt-4o"}}
        settings = settings_at(endpoint, model={"tasks": tasks}, search={"engine": "extractive"})
        labels = [one.endpoint for one in run_one(examine(settings)) if one.probe == "chat"]
    assert labels == [
        f"gpt-4.1-mini at {endpoint.url} (extract, resolve, summarise, judge)",
        f"gpt-4o at {endpoint.url} (report, answer)",
    ]


def test_the_model_of_the_testset_is_probed_where_one_is_written() -> None:
    with ScriptedEndpoint(obey_limit=True) as endpoint:
        own = {
            "model": {"tasks": {"testset": {"name": "strong"}}},
            "questions": {"testset": {"enabled": True}},
        }
        labels = {one.endpoint for one in run_one(examine(settings_at(endpoint, **own)))}
    assert f"strong at {endpoint.url} (testset)" in labels


def _closed_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/v1"


def test_an_endpoint_that_is_not_there_skips_the_rest() -> None:
    findings = found(_closed_port())
    assert findings["reachable"].verdict == "fails"
    assert "cannot reach" in findings["reachable"].found
    assert findings["context length"].verdict == "skipped"
    assert verdict(list(findings.values())) == "unusable"


def corpus(home: Path, url: str, **settings: Any) -> None:
    folder = home / "corpora" / "letters"
    folder.mkdir(exist_ok=True)
    shown = {"engine": "llm", "model": {"base_url": url, "name": "gpt-4.1-mini"}, **settings}
    (folder / "corpus.yaml").write_text(json.dumps(shown), encoding="utf-8")


def test_the_command_tells_the_verdict_and_no_secret(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ScriptedEndpoint(models=["gpt-4.1-mini"], obey_limit=True) as endpoint:
        corpus(home, endpoint.url)
        assert show(doctor("letters"), as_json=False) == 0
        told = capsys.readouterr()
        assert "ready" in told.out
        assert endpoint.url in told.out
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url.replace("http://", "http://user:pass-word@"))
        assert show(doctor(None), as_json=True) == 0
        listed = json.loads(capsys.readouterr().out)
        assert (listed["corpus"], listed["verdict"]) == (None, "ready")
    for secret in (KEY, "pass-word"):
        assert secret not in told.out + told.err
        assert secret.encode() not in b"".join(one.read_bytes() for one in (home / "cache").iterdir())


def test_a_key_that_is_refused_is_not_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ScriptedEndpoint(faults=lambda *_: Fault(401, f"Incorrect API key: {KEY}")) as endpoint:
        corpus(home, endpoint.url)
        assert show(doctor("letters"), as_json=False) == 1
        assert show(doctor("letters"), as_json=True) == 1
    told = capsys.readouterr()
    assert "not usable" in told.out
    assert "$OPENAI_API_KEY" in told.out
    assert KEY not in told.out + told.err


def test_what_the_doctor_found_spares_the_checkup(home: Path, store: CapabilityStore) -> None:
    with ScriptedEndpoint(unsupported=["response_format.json_schema"], obey_limit=True) as endpoint:
        corpus(home, endpoint.url)
        assert show(doctor("letters"), as_json=True) == 0
        from graphrag_dagster.kernel.models.cache.cache_database import database_at
        from graphrag_dagster.kernel.storage.home import cache_place

        before = len(endpoint.requests)
        known = run_one(check_endpoint(model_at(endpoint), CapabilityStore(database_at(cache_place()))))
        assert (known.format, len(endpoint.requests)) == ("json_object", before)


@pytest.mark.parametrize("documents", [1, 800])
def test_a_context_is_judged_by_the_units_there_are(
    home: Path, capsys: pytest.CaptureFixture[str], documents: int
) -> None:
    with ScriptedEndpoint(context_tokens=6500, overflow="truncate", obey_limit=True) as endpoint:
        corpus(home, endpoint.url, text_units={"strategy": "none"}, reports={"context_tokens": 500})
        text = "Ann Lee wrote to the mayor of Dorn about the bridge. " * documents
        (home / "corpora" / "letters" / "one.txt").write_text(text, encoding="utf-8")
        code = show(doctor("letters"), as_json=True)
    findings = {one["probe"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    told = findings["context length"]
    if documents == 1:
        assert (code, told["verdict"]) == (0, "works")
        assert told["consequence"].startswith("enough for the current documents")
    else:
        assert (code, told["verdict"]) == (1, "fails")
        assert "another strategy than none" in told["consequence"]


def test_nothing_is_probed_that_nothing_asks(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(EndpointError, match="no endpoint is configured"):
        show(doctor(None), as_json=False)
    with ScriptedEndpoint(models=["gpt-4.1-mini"], obey_limit=True) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        corpus(home, endpoint.url, engine="extractive")
        assert show(doctor("letters"), as_json=False) == 0
        assert "no model is used" in capsys.readouterr().out
        assert show(doctor("letters"), as_json=True) == 0
        assert json.loads(capsys.readouterr().out)["findings"] == []
        assert endpoint.requests == []
        corpus(home, endpoint.url, engine="extractive", embeddings={"embedder": "endpoint", "model": "v"})
        assert show(doctor("letters"), as_json=True) == 0
        assert {one.path for one in endpoint.requests} == {"/v1/embeddings"}
