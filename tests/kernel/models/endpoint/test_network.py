"""Certificates, proxies and keys: what the environment says of the way to the endpoint."""

import base64
import http.client
import logging
import ssl
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import trustme
from yaml import safe_load as load_yaml

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.batch_api import BatchApi
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder
from graphrag_dagster.kernel.models.probing.endpoint_check import listed_models
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import Fault, ScriptedEndpoint

REQUEST = ChatRequest("hello", (Message("user", "Hello?"),), 50)
KEY = "sk-a-secret-that-nobody-may-see-42"


@pytest.fixture(autouse=True)
def _no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def ask(model: Any, **options: Any) -> str:
    return str(run_one(model.complete(REQUEST, **options)).text)


class Forward(BaseHTTPRequestHandler):
    """Forwards every request to one place, whatever place it names."""

    target = ("127.0.0.1", 0)
    named: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.named.append(self.path)
        onward = http.client.HTTPConnection(*self.target, timeout=5)
        onward.request("POST", urlsplit(self.path).path, body, {"Content-Type": "application/json"})
        answer = onward.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def before(
    endpoint: ScriptedEndpoint, certificate: trustme.LeafCert | None = None
) -> Iterator[tuple[str, list[str]]]:
    """A server before an endpoint, with TLS where it has a certificate: its URL, and what it was asked for."""
    named: list[str] = []
    place = endpoint._server.server_address[:2]
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("To", (Forward,), {"target": place, "named": named}))
    server.daemon_threads = True
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http{'s' * bool(certificate)}://127.0.0.1:{server.server_address[1]}", named
    finally:
        server.shutdown()
        server.server_close()


def test_a_certificate_of_ones_own_is_believed_where_the_environment_names_it(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    certificate = authority.issue_cert("127.0.0.1")
    with ScriptedEndpoint(lambda _: "hi") as endpoint:
        with before(endpoint, certificate) as (url, named):
            with pytest.raises(
                EndpointError, match="cannot reach .*VERIFY_FAILED.*set SSL_CERT_FILE"
            ) as raised:
                ask(model_of(f"{url}/v1"))
            assert not isinstance(raised.value, CallFailed)
            assert named == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with before(endpoint, certificate) as (url, named):
            assert ask(model_of(f"{url}/v1")) == "hi"
            assert named == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("variable", "value"), [("SSL_CERT_FILE", "/nowhere/ca.pem"), ("HTTP_PROXY", "ftp://me:hush-hush@there")]
)
def test_what_the_environment_has_wrong_is_told(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(EndpointError, match=f"cannot be called: .*{variable}") as raised:
        ask(model_of("http://model.invalid/v1"))
    assert "hush" not in "".join(traceback.format_exception(raised.value))


def test_a_proxy_of_the_environment_is_used(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedEndpoint(lambda _: "hi") as endpoint, before(endpoint) as (proxy, named):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        assert ask(model_of("http://model.invalid/v1")) == "hi"
        assert named == ["http://model.invalid/v1/chat/completions"]
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert ask(model_of(endpoint)) == "hi"
        assert len(named) == 1
    assert len(endpoint.chats) == 2


def test_a_proxy_that_is_not_there_is_told_without_its_password(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:hush-hush@127.0.0.1:9")
    with pytest.raises(EndpointError, match="cannot reach http://model.invalid/v1") as raised:
        ask(model_of("http://model.invalid/v1"))
    assert "hush" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(400, f"bad request of {KEY}"),
        Fault(401, f"Incorrect API key provided: {KEY}."),
        Fault(404, KEY),
        Fault(429, KEY, "insufficient_quota"),
        Fault(500, KEY),
        Fault(502, "x" * 390 + KEY),
        Fault(drop=True),
        Fault(truncated=True),
        Fault(malformed=True),
        Fault(delay=2.5),
    ],
)
@pytest.mark.parametrize("kind", ["chat", "stream", "embed"])
def test_no_error_and_no_log_shows_the_key(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    model_of: Callable[..., Any],
    fault: Fault,
    kind: str,
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with ScriptedEndpoint(lambda _: "hi", faults=lambda *_: fault) as endpoint:
        chosen = {"api_key_variable": "SOME_KEY", "retries": 0, "timeout_seconds": 1.0}
        chat = model_of(endpoint, **chosen)
        embedder = OpenAIEmbedder("e", ModelSettings(base_url=endpoint.url, **chosen), first_wait=0.01)
        ways = {
            "chat": lambda: ask(chat),
            "stream": lambda: ask(chat, listen=lambda _: None),
            "embed": lambda: embedder.embed(["a text"]),
        }
        with pytest.raises(EndpointError) as raised:
            ways[kind]()
        sent = {name.lower(): value for name, value in endpoint.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {KEY}"
    # Not even the first letters of it, where a message was cut.
    shown = KEY[:12]
    assert shown not in "".join(traceback.format_exception(raised.value, chain=True))
    assert shown not in caplog.text
    for thing in (chat, embedder, chat.connection, chat.settings):
        assert shown not in repr(thing) + repr(getattr(thing, "__dict__", ""))


PROMPT = "A sentence of a document that is nobody else's business."


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("kind", ["chat", "stream", "embed", "models", "upload", "batches"])
def test_no_redirect_is_followed(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, status: int, kind: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ScriptedEndpoint(lambda _: "hi") as elsewhere:
        there = elsewhere.url.replace("http://", f"http://me:{KEY}@") + f"/chat/completions?token={KEY}"
        moved = Fault(status, headers={"Location": there})
        with ScriptedEndpoint(faults=lambda *_: moved) as endpoint:
            chat = model_of(endpoint)
            settings = ModelSettings(base_url=endpoint.url)
            batches = BatchApi(settings, first_wait=0.01)
            ways: dict[str, Callable[[], object]] = {
                "chat": lambda: ask(chat),
                "stream": lambda: ask(chat, listen=lambda _: None),
                "embed": lambda: OpenAIEmbedder("e", settings).embed([PROMPT]),
                "models": lambda: run_one(listed_models(chat.connection)),
                "upload": lambda: run_one(batches.create(PROMPT.encode(), {})),
                "batches": lambda: run_one(batches.latest()),
            }
            with pytest.raises(EndpointError, match="Redirects are not followed") as raised:
                ways[kind]()
        assert elsewhere.requests == []
    told = str(raised.value)
    assert elsewhere.url.removesuffix("/v1") in told
    assert "set model.base_url" in told
    assert KEY not in told
    assert "token" not in told


def test_a_user_in_the_variable_is_sent_and_not_shown(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedEndpoint(lambda _: "hi") as endpoint:
        url = endpoint.url.replace("http://", "http://reader:pass%3Aword%2F42@") + "?api-version=7"
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        model = model_of(None)
        assert ask(model) == "hi"
        (sent,) = endpoint.requests
    headers = {name.lower(): value for name, value in sent.headers.items()}
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"reader:pass:word/42"
    assert sent.path == "/v1/chat/completions?api-version=7"
    assert model.connection.shown_url == f"{endpoint.url}?api-version=***"
    assert "word" not in caplog.text + repr(model)


def test_an_account_of_the_environment_is_named(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.delenv("OPENAI_PROJECT_ID", raising=False)
    with ScriptedEndpoint(lambda _: "hi") as endpoint:
        assert ask(model_of(endpoint)) == "hi"
        headers = {name.lower(): value for name, value in endpoint.requests[0].headers.items()}
    assert headers["openai-organization"] == "org-1"
    assert "openai-project" not in headers
    assert headers["content-type"] == "application/json"


def test_a_key_in_the_query_of_the_variable_is_refused(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:9/v1?api_key={KEY}")
    with pytest.raises(EndpointError, match=r"\$OPENAI_BASE_URL holds a key \(api_key\)") as raised:
        ask(model_of(None))
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY, safe=""),
        base64.b64encode(KEY.encode()).decode().rstrip("="),
        base64.b64encode(f"reader:{KEY}".encode()).decode().rstrip("="),
    ],
)
def test_a_key_that_comes_back_is_taken_out_in_any_form(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    with ScriptedEndpoint(faults=[Fault(400, f"you are {form}")]) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url.replace("http://", f"http://reader:{KEY}@"))
        with pytest.raises(CallFailed, match=r"you are \*\*\*") as refused:
            ask(model_of(None))
    assert form not in str(refused.value)


def sent_by(settings: ModelSettings, endpoint: ScriptedEndpoint) -> tuple[str, dict[str, str]]:
    """The path and the headers with which a model of these settings is asked."""
    ask(OpenAIChatModel(settings))
    (one,) = endpoint.requests
    return one.path, {name.lower(): value for name, value in one.headers.items()}


@pytest.mark.parametrize(
    ("base", "given", "path"),
    [
        ("", {"api_version": "2024-10-21"}, "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"),
        ("/openai/", {"api_version": "preview"}, "/openai/deployments/gpt-4o/chat/completions?api-version=preview"),
        (
            "/openai/deployments/of-mine/chat/completions?api-version=2025-01-01-preview",
            {"api_version": "2025-01-01-preview"},
            "/openai/deployments/of-mine/chat/completions?api-version=2025-01-01-preview",
        ),
        ("/openai/v1", {"api_version": "preview"}, "/openai/v1/chat/completions?api-version=preview"),
        ("/openai/v1", {"api_version": "preview", "query": {"trace": 1}}, "/openai/v1/chat/completions?trace=1&api-version=preview"),
    ],
)  # fmt: skip
def test_an_azure_resource_is_asked_by_deployment_with_its_key_and_version(
    monkeypatch: pytest.MonkeyPatch, base: str, given: dict[str, Any], path: str
) -> None:
    monkeypatch.setenv("AZURE_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_VERSION", raising=False)
    with AnyPath(lambda _: "hi") as endpoint:
        url = endpoint.url.removesuffix("/v1") + base
        settings = ModelSettings(base_url=url, name="gpt-4o", api_key_variable="AZURE_KEY", **given)
        asked, headers = sent_by(settings, endpoint)
    assert (asked, headers["api-key"]) == (path, KEY)


class AnyPath(ScriptedEndpoint):
    """An endpoint that is asked under other paths than ``/v1``."""

    def begin(self, logged: Any) -> Any:
        fault = super().begin(logged)
        self.requests[-1] = replace(logged)
        logged.path = (
            "/v1/" + logged.path.partition("?")[0].rpartition("/chat/")[1].strip("/") + "/completions"
        )
        return fault


def test_what_azure_wants_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_VERSION", raising=False)
    settings = ModelSettings(base_url="https://mine.openai.azure.com", name="gpt-4o")
    with pytest.raises(EndpointError, match=r"needs an API version: set\s+model\.api_version"):
        ask(OpenAIChatModel(settings))
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EndpointError, match=r"needs a key: set \$OPENAI_API_KEY"):
        ask(OpenAIChatModel(settings))
    written = load_yaml("api_version: 2024-10-21")
    assert ModelSettings(**written).api_version == "2024-10-21"


def test_headers_and_parameters_of_ones_own_are_sent_to_this_endpoint_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("GATEWAY_KEY", KEY)
    settings = ModelSettings(
        headers={"X-Team": "search", "X-Api-Key": "$GATEWAY_KEY", "X-Level": 3},
        query={"region": "eu"},
        organization="org-9",
        project="proj-9",
        tasks={"embed": {"base_url": "http://127.0.0.1:9/v1"}},
    )
    with ScriptedEndpoint(lambda _: "hello") as endpoint:
        here = settings.model_copy(update={"base_url": endpoint.url})
        model = OpenAIChatModel(here)
        assert ask(model) == "hello"
        (one,) = endpoint.requests
    headers = {name.lower(): value for name, value in one.headers.items()}
    assert one.path == "/v1/chat/completions?region=eu"
    told = [
        headers[name] for name in ("x-team", "x-api-key", "x-level", "openai-organization", "openai-project")
    ]
    assert told == ["search", KEY, "3", "org-9", "proj-9"]
    # Nothing of this machine.
    assert not {"x-stainless-os", "x-stainless-arch", "x-stainless-runtime-version"} & headers.keys()
    assert KEY not in caplog.text + repr(vars(model)) + repr(here)
    elsewhere = settings.for_role("embed")
    assert (elsewhere.headers, elsewhere.query, elsewhere.organization) == ({}, {}, None)
    assert settings.for_role("extract").headers == settings.headers
    monkeypatch.delenv("GATEWAY_KEY")
    with pytest.raises(EndpointError, match=r"model.headers.X-Api-Key is \$GATEWAY_KEY, which is not set"):
        ask(OpenAIChatModel(here))


@pytest.mark.parametrize(
    "given",
    [
        {"headers": {"Authorization": "Bearer abcdefghijk"}},
        {"headers": {"X-Api-Key": "plain"}},
        {"headers": {"Cookie": "a=b"}},
        {"headers": {"X-Gateway-Token": "abc"}},
        {"headers": {"X-Note": KEY}},
        {"headers": {"X-Note": "a\r\nX-Other: b"}},
        {"query": {"api_key": "x"}},
        {"query": {"note": KEY}},
    ],
)
def test_credentials_in_headers_and_parameters_are_refused_and_not_shown(given: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError, match=r"credential|holds a key|not a header that can|not allowed in a header"
    ) as raised:
        ModelSettings(**given)
    assert KEY not in str(raised.value.errors(include_input=False, include_url=False))  # type: ignore[attr-defined]


def test_openai_is_imported_only_when_a_model_is_asked() -> None:
    code = (
        "import sys; from graphrag_dagster.cli import app; "
        "import graphrag_dagster.kernel.models.cache.cached_models, graphrag_dagster.kernel.models.batch_queue, "
        "graphrag_dagster.kernel.questions.corpus_index; print('openai' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
