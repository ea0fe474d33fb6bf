"""Every route, given what no text, number or header should be: refused in its usual form, never a failure."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.index import Index
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.open_indexes import Library
from graphrag_dagster.service.settings import ServiceSettings
from support.served import FaultyLibrary

LOCAL = "http://127.0.0.1"
TOKEN = "t" * 24
#: By route, a body that it takes.
BODIES: dict[str, Any] = {
    "/corpora/{corpus}/ask": {
        "question": "Who led the union?",
        "method": "local",
        "level": "C0",
        "history": [{"question": "Who?", "answer": "Hanna"}],
        "response_type": "single sentence",
        "filters": {"folder": "news", "title": "strike"},
        "stream": False,
    },
    "/corpora/{corpus}/cypher": {
        "query": "MATCH (n:Entity) WHERE n.title = $a RETURN n.title",
        "parameters": {"a": "x", "b": [1, 2]},
    },
    "/v1/chat/completions": {
        "model": "coast",
        "messages": [
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": "Hanna"},
            {"role": "user", "content": [{"type": "text", "text": "Who led the union?"}]},
        ],
        "stream": False,
        "stream_options": {"include_usage": True},
    },
    "/v1/embeddings": {"model": "coast", "input": ["a", "b"], "encoding_format": "float", "dimensions": 256},
    "/login": {"token": TOKEN},
    "/logout": {},
    "/mcp": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "ask", "arguments": {"corpus": "coast", "question": "Who?", "level": "C0"}},
    },
}
PAGES = ("/", "/openapi.json", "/page/x/page.js", "/page/x/nothing", "/nothing")
TEXTS = st.one_of(
    st.sampled_from(
        [
            *(
                "\ud800",
                "who \udfff?",
                "\ud83d",
                "\x00",
                "a\x00b",
                "\x1b[2J",
                "\u202e",
                "\ufeff",
                "",
                " ",
                "\r\nX: y",
            ),
            *(
                "..",
                "../../etc/passwd",
                "%00",
                "coast",
                "9" * 5_000,
                "NaN",
                "-1",
                "1e999",
                "🌊" * 50,
                "a" * 5_000,
            ),
        ]
    ),
    st.text(st.characters(), max_size=8),
)
NESTED = json.loads("[" * 200 + "]" * 200)
VALUES = st.one_of(
    TEXTS,
    st.sampled_from(
        [
            float("nan"),
            float("inf"),
            float("-inf"),
            10**400,
            -(10**400),
            2**63,
            -1,
            0,
            1.5,
            True,
            None,
            NESTED,
        ]
    ),
    st.just([]),
    st.just({}),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
    st.lists(TEXTS, max_size=2),
)
RAW = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b'{"token": "\xed\xa0\x80"}',
            b'{"question": "\xff"}',
            '{"question": "who?"}'.encode("utf-16"),
            b"\xef\xbb\xbf{}",
            b"[" * 100_000,
            b'{"question": ' + b"[" * 1_000 + b"]" * 1_000 + b"}",
            b'{"question": "who?", "question": 1}',
            b'{"question": 1e999}',
            b'{"level": ' + b"9" * 10_000 + b"}",
            b"NaN",
            b"null",
            b'"\\ud800"',
            b"",
        ]
    ),
)
HEADER = st.one_of(
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=12),
    st.sampled_from(
        ["\xed\xa0\x80", "application/json; charset=utf-16", "multipart/form-data", "*/*;q=x", "=;=", '"']
    ),
)
HEADERS = (
    "Accept",
    "Accept-Encoding",
    "Content-Type",
    "Cookie",
    "Range",
    "If-None-Match",
    "mcp-protocol-version",
)


def routes(library: Library | None) -> list[tuple[str, str]]:
    """Method and path of every route, those that the document leaves out included."""
    documented = make_app(ServiceSettings(), library).openapi()["paths"]
    found = {(method.upper(), path) for path, methods in documented.items() for method in methods}
    return sorted({*found, *(("GET", path) for path in PAGES), *(("POST", path) for path in BODIES)})


ROUTES = routes(FaultyLibrary())


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from _places(one, (*place, key))


def _with(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = _with(value[place[0]], place[1:], new)
    return copy


def _quoted(text: str) -> str:
    return quote(text.encode(errors="surrogatepass"), safe="") or "%20"


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A request to some route, of which something is hostile."""
    method, path = draw(st.sampled_from(ROUTES))
    address = path.replace("{corpus}", "coast" if draw(st.integers(0, 3)) else _quoted(draw(TEXTS)))
    while "{" in address:
        before, _, rest = address.partition("{")
        address = before + _quoted(draw(TEXTS)) + rest.partition("}")[2]
    names = st.sampled_from(
        ["query", "limit", "offset", "level", "sort", "filter", "cited", "within", "type", "x"]
    )
    asked = draw(st.dictionaries(names, TEXTS, max_size=3))
    if asked:
        address += "?" + urlencode({k: v.encode(errors="surrogatepass") for k, v in asked.items()})
    content = None
    if method == "POST":
        body = BODIES[path]
        if draw(st.integers(0, 4)):
            place = draw(st.sampled_from(sorted(_places(body), key=str)))
            content = json.dumps(_with(body, place, draw(VALUES))).encode()
        else:
            content = draw(RAW)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= draw(st.dictionaries(st.sampled_from(HEADERS), HEADER, max_size=1))
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    return {"method": method, "url": address, "content": content, "headers": encoded}


def _assail(client: TestClient, examples: int) -> None:
    seen = set()

    @settings(max_examples=examples, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(requests())
    def each(request: dict[str, Any]) -> None:
        answer = client.request(**request, follow_redirects=False)
        seen.add(answer.status_code)
        assert answer.status_code < 500, answer.text
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        if answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
            assert "error" in json.loads(answer.text)
        assert len(answer.text) < 2_000_000
        assert "\x1b" not in answer.text

    each()
    assert {200, 400, 404, 422} <= seen


def test_no_route_fails_whatever_it_is_sent() -> None:
    app = make_app(ServiceSettings(max_body_bytes=200_000), FaultyLibrary())
    with TestClient(app, base_url=LOCAL, raise_server_exceptions=False) as client:
        _assail(client, 250)


def test_no_route_fails_over_a_real_index(coast: Path) -> None:
    app = make_app(ServiceSettings(max_body_bytes=200_000))
    with TestClient(app, base_url=LOCAL, raise_server_exceptions=False) as client:
        _assail(client, 100)


@pytest.mark.parametrize(
    "body",
    [
        b'{"token": "\\ud800"}',
        b'{"token": "\xed\xa0\x80"}',
        b'{"token": NaN}',
        b'{"token": "\\u0000"}',
        b'{"token": 1e999}',
        b"[" * 50_000,
        b"",
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-www-form-urlencoded"])
def test_a_login_of_no_token_is_refused(library: FaultyLibrary, body: bytes, kind: str) -> None:
    client = TestClient(
        make_app(ServiceSettings(token=TOKEN), library), base_url=LOCAL, raise_server_exceptions=False
    )
    answer = client.post("/login", content=body, headers={"Content-Type": kind})
    assert answer.status_code in {400, 401, 422}, answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", b"Bearer \xed\xa0\x80"),
        ("Authorization", b"\xff\xff"),
        ("Cookie", b"graphrag_dagster=\xed\xa0\x80"),
        ("Cookie", b'graphrag_dagster="\\355\\240\\200"'),
        ("Cookie", b"=;=;\xff"),
        ("Origin", b"http://[\xff"),
        ("Host", b"\xff:99999999"),
    ],
)
def test_headers_that_are_none_let_nobody_in(library: FaultyLibrary, name: str, value: bytes) -> None:
    app = make_app(ServiceSettings(token=TOKEN), library)
    client = TestClient(app, base_url=LOCAL, raise_server_exceptions=False)
    assert client.get("/corpora", headers={name: value}).status_code in {400, 401, 403, 421}


@pytest.mark.parametrize("token", [None, TOKEN])
def test_every_response_says_how_a_browser_may_take_it(library: FaultyLibrary, token: str | None) -> None:
    app = make_app(ServiceSettings(token=token), library)
    with TestClient(app, base_url=LOCAL, raise_server_exceptions=False) as client:
        for method, path in [
            *ROUTES,
            ("DELETE", "/corpora"),
            ("OPTIONS", "/"),
            ("GET", "/corpora/none/tables"),
        ]:
            for headers in ({"Accept": "text/html"}, {"Host": "elsewhere.example"}):
                answer = client.request(method, path, headers=headers)
                told = answer.headers
                assert told["X-Content-Type-Options"] == "nosniff", path
                assert told["Referrer-Policy"] == "no-referrer", path
                assert "default-src 'none'" in told["Content-Security-Policy"], path
                assert "frame-ancestors 'none'" in told["Content-Security-Policy"], path
                assert len(told.get_list("X-Content-Type-Options")) == 1


def test_an_earlier_turn_that_is_no_text_is_refused_in_python_too(coast: Path) -> None:
    with pytest.raises(QuestionError, match="surrogate"):
        Index.open("coast").ask("Who led the union?", history=[("Who?", "Hanna \ud83d")])
    with pytest.raises(QuestionError, match="parameter a .*surrogate"):
        Index.open("coast").cypher("RETURN $a", {"a": ["x", "\ud800"]})
    with pytest.raises(QuestionError, match="NaN or infinite"):
        Index.open("coast").cypher("RETURN $a", {"a": float("nan")})


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (("Hanna \ud83c", "\udf0a led"), "Hanna 🌊 led"),
        (("\ud83c", "", "\udf0a"), "🌊"),
        (("Hanna \ud83c", " led"), "Hanna \ufffd led"),
        (("\udf0a led \ud83c",), "\ufffd led "),
        (("\ufeffHanna \x00led",), "\ufeffHanna \x00led"),
    ],
)
def test_a_stream_joins_what_a_server_parted(
    library: FaultyLibrary, pieces: tuple[str, ...], told: str
) -> None:
    library.pieces = pieces
    client = TestClient(make_app(ServiceSettings(), library), base_url=LOCAL, raise_server_exceptions=False)
    answer = client.post("/corpora/coast/ask", json={"question": "Who?", "stream": True})
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert "".join(event["text"] for event in events[:-1]) == told
    assert events[-1]["question"] == "Who?"
    chat = {"model": "coast", "messages": [{"role": "user", "content": "Who?"}], "stream": True}
    assert client.post("/v1/chat/completions", json=chat).text.rstrip().endswith("data: [DONE]")
