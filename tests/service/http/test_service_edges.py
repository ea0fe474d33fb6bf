"""Slow clients, hostile names and requests, and what a person is told at ``/``."""

import json
import socket
import time
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from graphrag_dagster.errors import CorpusError, SettingsError, WarehouseError
from graphrag_dagster.kernel.storage.home import home
from graphrag_dagster.kernel.storage.published import snapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.service.error_responses import refusal_of, without_paths
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings
from support.served import FaultyLibrary, serving

LOCAL = "http://127.0.0.1"


@pytest.fixture
def client(library: FaultyLibrary) -> TestClient:
    return TestClient(make_app(ServiceSettings(), library), base_url=LOCAL, raise_server_exceptions=False)


@pytest.mark.long
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HT",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea",
        b"POST /corpora/coast/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    ],
)
def test_who_is_slow_is_hung_up_on(library: FaultyLibrary, sent: bytes) -> None:
    with serving(library, ServiceSettings(port=0, request_seconds=0.3)) as url:
        address = httpx.URL(url)
        with socket.create_connection((address.host, address.port or 0), timeout=20) as slow:
            slow.sendall(sent)
            got = b""
            while piece := slow.recv(65_536):
                got += piece
        assert (b" 408 " in got) == (b"Content-Length" in sent)
        assert httpx.get(f"{url}/health").status_code == 200


def test_further_connections_are_turned_away(library: FaultyLibrary) -> None:
    with serving(library, ServiceSettings(port=0, max_connections=2)) as url:
        address = httpx.URL(url)
        held = [socket.create_connection((address.host, address.port or 0), timeout=20) for _ in range(3)]
        time.sleep(0.2)
        assert httpx.get(f"{url}/health").status_code == 503
        for one in held:
            one.close()


def test_who_asks_for_text_at_the_front_is_told_what_is_served(library: FaultyLibrary) -> None:
    library.known = ("coast", "a <b> c")
    client = TestClient(make_app(ServiceSettings(), library), base_url=LOCAL)
    text = client.get("/", headers={"Accept": "*/*"}).text
    assert "curl http://127.0.0.1/corpora/coast/ask" in text
    for path in ("/corpora", "/openapi.json", "/health", "/v1/models"):
        assert f"{LOCAL}{path}  " in text
        assert client.get(path).status_code == 200
    assert client.post("/").status_code == 405


def test_the_front_page_tells_no_stranger_what_there_is(library: FaultyLibrary) -> None:
    client = TestClient(make_app(ServiceSettings(token="t" * 20), library), base_url=LOCAL)
    told = client.get("/")
    assert told.status_code == 200
    assert "coast" not in told.text
    assert client.get("/corpora").status_code == 401


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            SettingsError("/srv/My Docs/x/corpora/c/corpus.yaml: line 3: a"),
            "…/corpora/c/corpus.yaml: line 3: a",
        ),
        (WarehouseError("no: /var/lib/g/warehouse/c.duckdb does not exist"), "no: …/c.duckdb does not exist"),
        (
            CorpusError("no corpus 'x' below /home/me/corpora; there are: a/b"),
            "no corpus 'x' below …/corpora; there are: a/b",
        ),
        (WarehouseError("calls http://127.0.0.1:8080/v1/chat"), "calls http://127.0.0.1:8080/v1/chat"),
    ],
)
def test_no_error_names_a_place_of_the_server(monkeypatch, error: Exception, told: str) -> None:
    monkeypatch.setenv("GRAPHRAG_DAGSTER_HOME", "/srv/My Docs/x")
    assert refusal_of(error).message == told
    assert "/srv" not in refusal_of(error).message
    assert str(home()) not in without_paths(f"{home()}/x and {home()}")


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e",
        "%2E%2E%2Fcoast",
        "..%2f..%2fetc%2fpasswd",
        "x" * 5000,
        "%00",
        "coast%00",
        "main",
        "%ED%A0%80",
        "%1b[2J",
    ],
)
def test_names_that_lead_elsewhere_are_refused(coast: Path, name: str) -> None:
    with TestClient(make_app(ServiceSettings()), base_url=LOCAL, raise_server_exceptions=False) as client:
        for path in (f"/corpora/{name}/reports/x", f"/corpora/coast/sources/{name}", f"/v1/models/{name}"):
            answer = client.get(path)
            assert answer.status_code in {400, 404, 409, 422}, answer.text
            assert str(coast) not in answer.text
            assert "\x1b" not in answer.text
            assert len(answer.text) < 3000


@pytest.mark.parametrize(
    "body",
    [
        b'{"question": "\\ud800 who?"}',
        b'{"question": "who\\u0000?"}',
        b'{"\\ud800": 1, "question": "who?"}',
        b'{"question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"question": "who?", "history": ' + b'[{"question": "a", "answer": "b"},' * 5 + b"1]}",
        b"[" * 200_000,
        b'{"question": 1e999}',
        b"\xff\xfe\x00",
        b"",
        b'{"question": "who?", "method": "\\ud800", "level": "\\u001b[2J"}',
    ],
)
def test_bodies_that_are_none_are_refused_in_the_usual_form(coast: Path, body: bytes) -> None:
    with TestClient(make_app(ServiceSettings()), base_url=LOCAL, raise_server_exceptions=False) as client:
        for kind in ("application/json", "text/plain", "nonsense"):
            answer = client.post("/corpora/coast/ask", content=body, headers={"Content-Type": kind})
            assert answer.status_code in {400, 413, 422}, answer.text
            assert set(json.loads(answer.text)["error"]) == {"type", "message"}


def test_the_version_is_that_of_the_snapshots(coast: Path) -> None:
    (newest,) = snapshots(Warehouse(), "coast")
    with TestClient(make_app(ServiceSettings()), base_url=LOCAL) as client:
        assert {"name": "coast", "version": newest.version} in client.get("/corpora").json()["corpora"]
