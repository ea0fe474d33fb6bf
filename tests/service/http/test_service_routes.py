import json
import logging
import re
import secrets
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from graphrag_dagster.errors import EndpointError, EngineError, SettingsError
from graphrag_dagster.kernel.questions.context.answer import QUOTATIONS, Answer
from graphrag_dagster.kernel.questions.document_filters import Filters
from graphrag_dagster.service.explorer.page_bundle import page_parts
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.request_models import AnswerBody
from graphrag_dagster.service.settings import ServiceSettings, token_from_environment
from support.served import QUERY, ROW, SOURCE, TRIPLE, FaultyLibrary, serving

LOCAL = "http://localhost:8000"
ASK = "/corpora/coast/ask"
TOKEN = secrets.token_urlsafe(24)


def client_of(library: FaultyLibrary | None, **settings: object) -> TestClient:
    return TestClient(make_app(ServiceSettings(**settings), library), base_url=LOCAL)  # type: ignore[arg-type]


@pytest.fixture
def client(library: FaultyLibrary) -> Iterator[TestClient]:
    with client_of(library) as made:
        yield made


def test_a_real_corpus_is_asked_and_its_sources_are_read(coast: Path) -> None:
    with client_of(None) as client:
        assert [c["name"] for c in client.get("/corpora").json()["corpora"]] == ["coast"]
        question = {"question": "Who led the Dockers Union?"}
        answer = client.post(ASK, json=question).raise_for_status().json()
        assert "Hanna Quill" in answer["text"]
        assert (answer["engine"], answer["heading"]) == ("extractive", QUOTATIONS)
        words = next(s["evidence"] for s in answer["sources"] if s["evidence"]["kind"] == "words")
        passage = client.get(f"/corpora/coast/sources/{words['text_unit_id']}").raise_for_status().json()
        begin = words["start_char"] - passage["start_char"]
        assert passage["text"][begin : begin + len(words["quotation"])] == words["quotation"]
        asked = (
            client.post(ASK, json={**question, "method": "global", "level": "C0"}).raise_for_status().json()
        )
        report = next(use for use in asked["context"] if use["kind"] == "report")["record_id"]
        assert client.get(f"/corpora/coast/reports/{report}").json()["content"].startswith("# ")
        by_graph = client.post(ASK, json={**question, "method": "graph"}).raise_for_status().json()
        assert "Route through the graph" in [one["title"] for one in by_graph["trace"]]
        assert "Hanna Quill" in by_graph["text"]
        found = client.get("/corpora/coast/entities", params={"query": "Hanna Quill", "limit": 3}).json()
        assert "Hanna Quill" in [e["title"] for e in found["entities"]]
        graph = "/corpora/coast/cypher"
        query = "MATCH (e:Entity)-[r:RELATED]-(:Entity {title: $title}) RETURN e.title AS title"
        told = client.post(graph, json={"query": query, "parameters": {"title": "Dockers Union"}}).json()
        assert ["Hanna Quill"] in told["rows"]
        plain = {"question": "Who is connected to the Dockers Union?"}
        asked = client.post(graph, json=plain).raise_for_status().json()
        assert asked["reading"].endswith("connected with Dockers Union")
        assert "Hanna Quill" in [row[asked["columns"].index("title")] for row in asked["rows"]]
        for refused in ({"query": "MATCH (n) DETACH DELETE n"}, {}, {**plain, "parameters": {"a": 1}}):
            answer = client.post(graph, json=refused)
            assert (answer.status_code, answer.json()["error"]["type"]) == (400, "bad_question")
        bare = client.post("/corpora/bare/ask", json=question)
        assert bare.status_code == 409
        assert "index" in bare.json()["error"]["message"]
        wrong = client.post(ASK, json={**question, "method": "guess"})
        assert (wrong.status_code, wrong.json()["error"]["type"]) == (400, "bad_question")
        unable = client.post(ASK, json={**question, "method": "own-context"})
        assert unable.status_code == 400
        assert "needs a model" in unable.json()["error"]["message"]
        deep = client.post(ASK, json={**question, "method": "global", "level": "C9"})
        assert deep.status_code == 400
        assert "C0" in deep.json()["error"]["message"]
        for missing in ("reports/none", "sources/none"):
            assert client.get(f"/corpora/coast/{missing}").status_code == 404
        assert client.get("/corpora/coast/entities", params={"query": " ?"}).status_code == 400
        for unknown in ("nowhere", "..", "co'ast", "a" * 300, "x\x00y"):
            assert client.get(f"/corpora/{unknown.replace(chr(0), '%00')}/reports/r").status_code == 404


def test_the_answer_is_told_whole() -> None:
    told = {
        *(f.name for f in fields(Answer)),
        "heading",
        "calls",
        "partly_supported",
        "unsupported",
        "general",
    }
    assert set(AnswerBody.model_fields) == told


def test_what_is_asked_reaches_the_index(client: TestClient, library: FaultyLibrary) -> None:
    history = [{"question": "Who struck?", "answer": "The dockers."}]
    body = {"question": "Who led them?", "method": "local", "level": "C0", "history": history}
    body |= {"response_type": "single sentence", "general_knowledge": True}
    body["filters"] = {"folders": ["news"], "date_from": "2014", "where": ["year>=2014"], "soft": False}
    answer = client.post(ASK, json=body).raise_for_status().json()
    assert library.asked == [("Who led them?", "local", "C0", (("Who struck?", "The dockers."),))]
    assert library.wished == [("single sentence", True)]
    assert library.filters == [
        Filters(folders=("news",), date_from="2014", where=("year>=2014",), soft=False)
    ]
    assert answer["usage"] == {"calls": 2, "input_tokens": 70, "output_tokens": 9, "repaired": 0}
    assert answer["sources"][0]["evidence"]["path"] == "news/strike.md"


@pytest.mark.parametrize(
    "filters", [{"folder": ["news"]}, {"documents": "strike"}, {"soft": "no"}, {"where": [1]}, ["strike"]]
)
def test_a_filter_that_is_none_is_not_dropped_in_silence(
    client: TestClient, library: FaultyLibrary, filters: object
) -> None:
    told = client.post(ASK, json={"question": "Who led them?", "filters": filters})
    assert told.status_code == 422
    assert "filters" in told.json()["error"]["message"]
    assert library.asked == []


def test_a_real_corpus_is_asked_with_filters(coast: Path) -> None:
    with client_of(None) as client:
        body = {"question": "Who led the Dockers Union?", "filters": {"folders": ["news"]}}
        answer = client.post(ASK, json=body).raise_for_status().json()
        assert {source["evidence"]["path"] for source in answer["sources"]} == {"news/strike.md"}
        assert answer["scope"]["documents"] == [2, 4]
        wrong = client.post(ASK, json={**body, "filters": {"where": ["speaker=Anna"]}})
        assert wrong.status_code == 400
        assert "no document has a value 'speaker'" in wrong.json()["error"]["message"]


def test_each_kind_of_evidence_is_told_whole(client: TestClient, library: FaultyLibrary) -> None:
    bare = replace(SOURCE, number=3, evidence=None)
    row = replace(SOURCE, number=4, kind="row", evidence=ROW)
    library.sources = (SOURCE, replace(SOURCE, number=2, kind="relationship", evidence=TRIPLE), bare, row)
    library.query = QUERY
    answer = client.post(ASK, json={"question": "Who led them?"}).raise_for_status().json()
    words, triple, nothing, row_told = (source["evidence"] for source in answer["sources"])
    assert row_told == asdict(ROW) | {"kind": "row"}
    assert answer["query"] == asdict(QUERY)
    assert words == asdict(SOURCE)["evidence"] | {"kind": "words"}
    assert triple == asdict(TRIPLE) | {"kind": "triple"}
    assert nothing is None


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (EndpointError("the model endpoint gave 401; set OPENAI_API_KEY"), 502, "model_failed"),
        (EngineError("the extractive engine cannot do this; use llm"), 502, "model_failed"),
        (SettingsError("corpus.yaml: engine must be extractive or llm"), 409, "corpus_not_ready"),
    ],
)
def test_errors_keep_their_message(
    client: TestClient, library: FaultyLibrary, error: Exception, status: int, kind: str
) -> None:
    library.error = error
    answer = client.post(ASK, json={"question": "Why?"})
    assert answer.status_code == status
    assert answer.json() == {"error": {"type": kind, "message": str(error)}}


def test_an_unforeseen_error_tells_nothing_and_its_log_line_quotes_nothing(
    client: TestClient, library: FaultyLibrary, caplog: pytest.LogCaptureFixture
) -> None:
    library.error = RuntimeError("Who stole the plum cake? in /srv/private")
    with caplog.at_level(logging.DEBUG):
        answer = client.post(ASK, json={"question": "Who stole the plum cake?"})
        chat = client.post(
            "/v1/chat/completions",
            json={"model": "coast", "messages": [{"role": "user", "content": "Who stole the plum cake?"}]},
        )
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "internal_error")
    assert (chat.status_code, chat.json()["error"]["type"]) == (500, "server_error")
    assert "RuntimeError at" in caplog.text
    for words in (answer.text, chat.text, caplog.text):
        assert "plum" not in words
        assert "/srv/private" not in words


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"question": ""}, 400),
        ({"question": "x" * 4001}, 400),
        ({"question": "Why?", "level": "C9"}, 400),
        ({}, 422),
        ({"question": 7}, 422),
        ({"question": "Why?", "colour": "red"}, 422),
        ({"question": "Why?", "history": [["a", "b"]]}, 422),
    ],
)
def test_bad_requests(client: TestClient, body: dict[str, object], status: int) -> None:
    answer = client.post(ASK, json=body)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"type", "message"}


def test_a_body_that_is_too_large_is_refused_declared_or_not(client: TestClient) -> None:
    large = json.dumps({"question": "x" * 1_000_000}).encode()
    kind = {"Content-Type": "application/json"}
    assert client.post(ASK, content=large, headers=kind).status_code == 413
    pieces = (large[i : i + 65_536] for i in range(0, len(large), 65_536))
    answer = client.post("/v1/chat/completions", content=pieces, headers=kind)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "body_too_large"


def test_head_answers_as_get_without_the_body(coast: Path) -> None:
    """Of every route that reads, over the real server; of others as GET is refused there."""
    with serving(None, ServiceSettings(port=0)) as url, httpx.Client(base_url=url) as real:
        document = real.get("/openapi.json").json()
        version = page_parts().version
        paths = ["/", "/openapi.json", "/nothing", f"/page/{version}/page.js"]
        paths += [
            path for path, methods in document["paths"].items() if "get" in methods or "post" in methods
        ]
        for path in paths:
            place = re.sub(r"\{\w+\}", "coast", path)
            told, read = real.head(place), real.get(place)
            assert (told.status_code, told.content) == (read.status_code, b""), path
            for name in ("content-type", "content-length", "allow"):
                assert told.headers.get(name) == read.headers.get(name), (path, name)
        # GET is a stream without an end there.
        assert (real.head("/mcp").status_code, real.head("/mcp").content) == (200, b"")


def test_what_is_no_route_has_the_same_shape(client: TestClient) -> None:
    assert client.get("/nothing").json()["error"]["type"] == "not_found"
    wrong = client.delete("/corpora")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    assert client.get("/docs").status_code == 404
    assert client.post(ASK, content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 422


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:1", "127.0.0.1", "127.0.0.1:9000", "[::1]", "[::1]:8000", "LOCALHOST:8000"],
)
def test_names_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil@localhost", "localhost:x", ""],
)
def test_other_names_are_not(client: TestClient, host: str) -> None:
    for path in ("/health", "/corpora", "/v1/models", "/mcp"):
        assert client.get(path, headers={"Host": host}).status_code == 421


def test_pages_of_other_sites_are_refused(client: TestClient, library: FaultyLibrary) -> None:
    for origin, status in {
        "http://localhost:3000": 200,
        "https://evil.example": 403,
        "null": 403,
        "http://127.0.0.1.evil.example": 403,
    }.items():
        answer = client.post(ASK, json={"question": "Why?"}, headers={"Origin": origin})
        assert answer.status_code == status
        assert "access-control-allow-origin" not in answer.headers
    assert len(library.asked) == 1


def test_a_token_is_needed_for_all_but_health(library: FaultyLibrary) -> None:
    with client_of(library, host="0.0.0.0", token=TOKEN) as client:  # noqa: S104
        anywhere = {"Host": "graphs.example"}
        assert client.get("/health", headers=anywhere).status_code == 200
        paths = ("/corpora", "/v1/models", "/openapi.json", "/mcp", "/nothing", "/health/")
        for given in (None, "", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer é"):
            headers = anywhere if given is None else {**anywhere, "Authorization": given.encode()}
            for path in paths:
                answer = client.get(path, headers=headers)  # type: ignore[arg-type]
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
        right = {**anywhere, "Authorization": f"Bearer {TOKEN}"}
        assert client.get("/corpora", headers=right).status_code == 200
        assert client.get("/openapi.json", headers=right).json()["components"]["securitySchemes"]


def test_settings_that_would_be_unsafe_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "graphs.example"):  # noqa: S104
        with pytest.raises(SettingsError, match="GRAPHRAG_DAGSTER_TOKEN"):
            ServiceSettings(host=host)
        assert not ServiceSettings(host=host, token=TOKEN).local
    for short in ("", "x" * 15, "ü" * 20, "a" * 20 + "\n"):
        with pytest.raises(SettingsError, match="GRAPHRAG_DAGSTER_TOKEN"):
            ServiceSettings(token=short)
    for number in ({"max_asks": 0}, {"port": 70_000}):
        with pytest.raises(SettingsError, match="use"):
            ServiceSettings(**number)  # type: ignore[arg-type]
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        assert ServiceSettings(host=host).local
    assert TOKEN not in repr(ServiceSettings(token=TOKEN))
    monkeypatch.setenv("GRAPHRAG_DAGSTER_TOKEN", TOKEN)
    assert token_from_environment() == TOKEN
    monkeypatch.setenv("GRAPHRAG_DAGSTER_TOKEN", "")
    assert token_from_environment() is None
