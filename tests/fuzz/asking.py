"""Questions, names, ids, levels and queries as strangers send them: by command, over HTTP, and as tools."""

import asyncio
import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.harness import Subject
from support.corpora import write_corpus
from support.homes import copy_home

_PIECES = (
    *(
        "Who led the Dockers Union?",
        "What are the themes?",
        "Skerry Point",
        "HANNA QUILL",
        "coast",
        "strike.md",
    ),
    *(
        "",
        " ",
        "?",
        "\x00",
        "\x1b[2J",
        "\x1b]8;;http://e\x07",
        "\x9b31m",
        "\u202e",
        "\ud800",
        "\ufeff",
        "\r\n",
        "\t",
    ),
    *(
        "..",
        "../../etc/passwd",
        "/etc/passwd",
        "%2e%2e%2f",
        "C:\\x",
        "~",
        "-",
        "--",
        "--help",
        "-1",
        "0",
        "9" * 400,
    ),
    *(
        "[red]",
        "[/]",
        "[link=http://e]",
        "<script>",
        "![x](http://e)",
        "{{x}}",
        "${HOME}",
        "`id`",
        "$(id)",
        ";",
        "'",
    ),
    *(
        '"',
        "\\",
        "%s",
        "%n",
        "*",
        "select 1",
        "' or 1=1 --",
        "日本語",
        "שלום",
        "e\u0301" * 50,
        "a" * 5000,
        "🌊" * 300,
    ),
    *(
        "C0",
        "C9",
        "c1",
        "root",
        "C" * 300,
        "global",
        "drift",
        "TS",
        "main",
        "memory",
        "corpus.documents",
        "NaN",
    ),
)
_KINDS = ("entity", "relationship", "report", "claim", "answer")
_QUERIES = (
    *("select {}", "select '{}'", "select * from {}", 'select "{}" from graph.entities', "{}", "describe {}"),
    *(
        "select chr(27) || '{}'",
        "select * from graph.entities where title = '{}'",
        "explain {}",
        "values ('{}')",
    ),
)
_ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

Case = tuple[Path, str, Any]


def subject_of(indexed: Path) -> Subject:
    """The subject, over a home whose corpus ``coast`` is indexed."""

    def cases(random: Random, count: int) -> Iterator[tuple[str, Case]]:
        for number in range(count):
            way, make = (("command", _command), ("http", _request), ("tool", _tool))[number % 3]
            yield f"{way} {number}", (indexed, way, make(random))

    return Subject("asking", cases, attack)


def _cases(random: Random, count: int) -> Iterator[tuple[str, Case]]:
    """A third each by command, over HTTP and as a tool, over a home that is made for it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-asked-") as place:
        home = Path(place)
        write_corpus(home / "corpora")
        environment = {**os.environ, "GRAPHRAG_DAGSTER_HOME": place, "DAGSTER_HOME": f"{place}/.dagster_home"}
        command = [sys.executable, "-c", "from graphrag_dagster.cli import main; main()", "index", "coast"]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        yield from subject_of(home).cases(random, count)


def attack(case: Case, home: Path) -> str:
    """Ask; nothing raw may come back, and nothing that nobody foresaw."""
    indexed, way, given = case
    _fill(home, indexed)
    return {"command": _run, "http": _send, "tool": _call}[way](given)


def _text(random: Random) -> str:
    return "".join(random.choice(_PIECES) for _ in range(random.choice((1, 1, 2, 4))))


def _name(random: Random) -> str:
    return random.choice(("coast", "coast", "coast", _text(random)))


def _command(random: Random) -> list[str]:
    name, text = _name(random), _text(random)
    return random.choice(
        (
            ["ask", name, text],
            ["ask", name, text, "--json", "--level", random.choice(("C0", "C1", _text(random)))],
            ["ask", name, text, "--method", random.choice(("local", "basic", "global", _text(random)))],
            ["trace", name, text],
            ["show", name, "--level", random.choice(("C0", _text(random)))],
            ["why", name, random.choice((*_KINDS, _text(random))), text],
            ["impact", name, text],
            [
                "sql",
                name,
                random.choice(_QUERIES).replace("{}", text),
                "--seconds",
                "5",
                "--memory-mb",
                "100",
            ],
            ["rollback", name, text or "x"],
            [text, name],
        )
    )


def _request(random: Random) -> tuple[str, str, Any]:
    name, text = _name(random), _text(random)
    body = {"question": text, "method": random.choice((None, "local", _text(random)))}
    body |= random.choice(
        (
            {},
            {"level": _text(random)},
            {_text(random): 1},
            {"history": [{"question": text, "answer": _text(random)}]},
        )
    )
    graph = {"query": f"MATCH (n:Entity) WHERE n.title = $a AND any(x IN ['{text}'] WHERE x = $a) RETURN n"}
    graph |= {
        "parameters": {random.choice(("a", text)): random.choice((text, [text, None], [], math.nan, 1e308))}
    }
    chat = {"model": f"{name}:{_text(random)}", "messages": [{"role": "user", "content": text}]}
    return random.choice(
        (
            ("POST", f"/corpora/{_quoted(name)}/ask", body),
            ("POST", "/corpora/coast/ask", random.choice((body, text, [text], 5, None))),
            ("POST", "/v1/chat/completions", chat),
            ("POST", "/v1/embeddings", {"model": "static", "input": random.choice((text, [text], [0, -1]))}),
            ("POST", f"/corpora/{_quoted(name)}/cypher", graph),
            ("POST", "/login", {"token": text}),
            ("GET", f"/corpora/{_quoted(name)}/reports/{_quoted(text)}", None),
            ("GET", f"/corpora/{_quoted(name)}/sources/{_quoted(text)}", None),
            (
                "GET",
                f"/corpora/{_quoted(name)}/entities?query={_quoted(text)}&limit={_quoted(_text(random))}",
                None,
            ),
            ("GET", f"/v1/models/{_quoted(text)}", None),
            (random.choice(("HEAD", "OPTIONS", "PUT", "GET")), f"/{_quoted(text)}", None),
        )
    )


def _tool(random: Random) -> tuple[str, dict[str, Any]]:
    name, text = _name(random), _text(random)
    return random.choice(
        (
            ("ask", {"corpus": name, "question": text}),
            ("ask", {"corpus": name, "question": text, "method": _text(random), "level": _text(random)}),
            ("search_entities", {"corpus": name, "query": text}),
            (
                "search_entities",
                {"corpus": name, "query": text, "limit": random.choice((0, -1, 10**30, text))},
            ),
            ("read_report", {"corpus": name, "report_id": text}),
            ("read_source", {"corpus": name, "text_unit_id": random.choice((text, None, [text]))}),
            (text, {text: text}),
        )
    )


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode(errors="surrogatepass")) or "%20"


def _run(arguments: list[str]) -> str:
    from graphrag_dagster.cli import main

    out, err, code = io.StringIO(), io.StringIO(), 0
    before, sys.argv = sys.argv, ["graphrag-dagster", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.argv = before
    told = out.getvalue() + err.getvalue()
    assert not _ESCAPES.search(told), ascii(told[-500:])
    assert "Traceback" not in told, told
    assert code in {0, 1, 2}, code
    assert not code or err.getvalue(), arguments
    return "answered" if code == 0 else "refused"


def _send(given: tuple[str, str, Any]) -> str:
    method, address, body = given
    content = None if body is None else json.dumps(body).encode()
    answer = _client().request(
        method, address, content=content, headers={"Content-Type": "application/json"}, follow_redirects=False
    )
    assert answer.status_code < 500, answer.text
    assert str(Path.cwd()) not in answer.text, answer.text
    if answer.headers.get("content-type") == "application/json" and method != "HEAD":
        json.loads(answer.text)
    return "answered" if answer.status_code < 400 else "refused"


def _call(given: tuple[str, dict[str, Any]]) -> str:
    from mcp.server.mcpserver.exceptions import ToolError

    from graphrag_dagster.service.error_responses import LOG

    heard: list[str] = []
    LOG.error = lambda told, *rest: heard.append(str(rest))  # type: ignore[method-assign]
    try:
        asyncio.run(_tools().call_tool(*given))
    except ToolError as error:
        told = str(error)
        assert not heard, heard
        assert str(Path.cwd()) not in told, told
        return "refused"
    return "answered"


@cache
def _fill(home: Path, indexed: Path) -> None:
    copy_home(indexed, home)


@cache
def _client() -> Any:
    from starlette.testclient import TestClient

    from graphrag_dagster.service.http_app import make_app
    from graphrag_dagster.service.settings import ServiceSettings

    return TestClient(make_app(ServiceSettings()), base_url="http://127.0.0.1", raise_server_exceptions=False)


def _tools() -> Any:
    from graphrag_dagster.service.backend import Backend
    from graphrag_dagster.service.mcp_server import make_server
    from graphrag_dagster.service.settings import ServiceSettings

    return make_server(Backend(ServiceSettings()))


SUBJECT = Subject("asking", _cases, attack)
