"""The official client of the Model Context Protocol: in memory, over standard input and output, over HTTP."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2 as httpx
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from graphrag_dagster.kernel.questions.document_filters import Filters
from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.mcp_server import make_server
from graphrag_dagster.service.settings import ServiceSettings
from support.served import QUERY, ROW, SOURCE, TEXT, TRIPLE, FaultyLibrary, serving

TOOLS = ["list_corpora", "ask", "query_graph", "search_entities", "read_report", "read_source"]
QUESTION = {"corpus": "coast", "question": "Who led the Dockers Union?"}


def in_memory(library: FaultyLibrary, use: Callable[[Client], Awaitable[None]], **limits: Any) -> None:
    async def main() -> None:
        async with Client(make_server(Backend(ServiceSettings(**limits), library))) as client:
            await use(client)

    anyio.run(main)


async def error_of(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr]


def test_the_tools_are_typed_and_described(library: FaultyLibrary) -> None:
    async def use(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == TOOLS
        for tool in tools:
            assert tool.description
            assert tool.output_schema
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            for argument in tool.input_schema["properties"].values():
                assert argument["description"]
        assert tools[1].input_schema["required"] == ["corpus", "question"]
        assert "list_corpora" in (client.instructions or "")

    in_memory(library, use)


def test_tools_give_structured_results(library: FaultyLibrary) -> None:
    async def use(client: Client) -> None:
        listed = (await client.call_tool("list_corpora", {})).structured_content
        known = [{"name": n, "version": "snapshot 1"} for n in library.known]
        assert listed == {"corpora": known, "unindexed": []}
        wishes = {"response_type": "list of 3 points", "general_knowledge": False}
        filters = {"documents": ["strike"], "date_to": "2015"}
        asked = {**QUESTION, "method": "local", **wishes, "filters": filters}
        answer = (await client.call_tool("ask", asked)).structured_content
        assert answer is not None
        assert answer["text"] == TEXT
        assert answer["sources"][0]["evidence"]["text_unit_id"] == "u1"
        assert library.asked == [(QUESTION["question"], "local", None, ())]
        assert library.wished == [("list of 3 points", False)]
        assert library.filters == [Filters(documents=("strike",), date_to="2015")]
        assert "folder" in await error_of(client, "ask", **QUESTION, filters={"folder": ["news"]})
        for tool, key in (("read_report", "report_id"), ("read_source", "text_unit_id")):
            value = {"report_id": "r1", "text_unit_id": "u1"}[key]
            read = (await client.call_tool(tool, {"corpus": "coast", key: value})).structured_content
            assert read is not None
            assert read[key] == value
        found = await client.call_tool("search_entities", {"corpus": "coast", "query": "union", "limit": 5})
        assert found.structured_content is not None
        assert found.structured_content["entities"][0]["entity_id"] == "e1"
        of_graph = {"corpus": "coast", "query": "MATCH (n {x: $x}) RETURN n", "parameters": {"x": 1}}
        rows = (await client.call_tool("query_graph", of_graph)).structured_content
        assert rows is not None
        assert (rows["columns"], rows["rows"], rows["more"]) == (["title"], [["Hanna Quill"]], False)
        assert "only read" in await error_of(client, "query_graph", corpus="coast", query="CREATE (n)")
        assert "either a query or a question" in await error_of(client, "query_graph", corpus="coast")

    in_memory(library, use)


def test_each_kind_of_evidence_is_given_to_the_caller(library: FaultyLibrary) -> None:
    bare = replace(SOURCE, number=3, evidence=None)
    library.sources = (
        SOURCE,
        replace(SOURCE, number=2, evidence=TRIPLE),
        bare,
        replace(SOURCE, number=4, evidence=ROW),
    )
    library.query = QUERY

    async def use(client: Client) -> None:
        answer = (await client.call_tool("ask", QUESTION)).structured_content
        assert answer is not None
        assert [one["evidence"] for one in answer["sources"]] == [
            asdict(SOURCE)["evidence"],
            asdict(TRIPLE),
            None,
            asdict(ROW),
        ]
        assert answer["query"] == asdict(QUERY)

    in_memory(library, use)


def test_what_goes_wrong_is_told_to_the_caller(
    library: FaultyLibrary, caplog: pytest.LogCaptureFixture
) -> None:
    async def use(client: Client) -> None:
        assert "no corpus 'nowhere'" in await error_of(client, "ask", corpus="nowhere", question="Why?")
        assert "index bare" in await error_of(client, "read_report", corpus="bare", report_id="r1")
        assert "no report" in await error_of(client, "read_report", corpus="coast", report_id="r2")
        assert "no text unit" in await error_of(client, "read_source", corpus="coast", text_unit_id="u2")
        assert "4,001 characters" in await error_of(client, "ask", corpus="coast", question="x" * 4001)
        assert "limit" in await error_of(client, "search_entities", corpus="coast", query="x", limit=0)
        library.error = RuntimeError("plum cake")
        assert "plum" not in await error_of(client, "ask", corpus="coast", question="Where is the plum cake?")
        library.error = None
        library.gate.clear()
        assert "more than 0.1 seconds" in await error_of(client, "ask", **QUESTION)
        library.gate.set()

    in_memory(library, use, answer_seconds=0.1)
    assert "plum" not in caplog.text


def test_a_real_corpus_over_standard_input_and_output(coast: Path) -> None:
    code = "from graphrag_dagster.service.mcp_server import run_stdio; run_stdio()"
    server = StdioServerParameters(command=sys.executable, args=["-c", code], env=dict(os.environ))

    async def main() -> None:
        async with Client(stdio_client(server)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            listed = (await client.call_tool("list_corpora", {})).structured_content
            assert listed is not None
            assert [c["name"] for c in listed["corpora"]] == ["coast"]
            answer = (await client.call_tool("ask", QUESTION)).structured_content
            assert answer is not None
            assert "Hanna Quill" in answer["text"]
            by_graph = (await client.call_tool("ask", {**QUESTION, "method": "graph"})).structured_content
            assert by_graph is not None
            assert by_graph["why"].startswith("local: it names")
            unit = next(s["evidence"]["text_unit_id"] for s in answer["sources"])
            source = await client.call_tool("read_source", {"corpus": "coast", "text_unit_id": unit})
            assert source.structured_content is not None
            assert "Hanna Quill" in source.structured_content["text"]
            assert "has not been indexed" in await error_of(client, "ask", corpus="bare", question="Why?")

    anyio.run(main)


def test_the_tools_over_http_need_the_token(library: FaultyLibrary) -> None:
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    token = secrets.token_urlsafe(24)
    with serving(library, ServiceSettings(port=0, token=token)) as url:
        assert httpx.post(f"{url}/mcp", json={}).status_code == 401

        async def main() -> None:
            headers = {"Authorization": f"Bearer {token}"}
            async with (
                create_mcp_http_client(headers=headers) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
            ):
                answer = (await client.call_tool("ask", QUESTION)).structured_content
                assert answer is not None
                assert answer["text"] == TEXT

        anyio.run(main)


def test_standard_output_carries_protocol_only(coast: Path) -> None:
    code = "from graphrag_dagster.service.mcp_server import run_stdio; run_stdio()"
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "ask", "arguments": QUESTION}
    sent = [
        {"id": 1, "method": "initialize", "params": begin},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
        {"id": 3, "method": "tools/call", "params": {**call, "arguments": {**QUESTION, "corpus": "bare"}}},
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in sent:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        told = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(20) == 0
    assert {message["id"] for message in told} == {1, 2, 3}
    assert all(message["jsonrpc"] == "2.0" for message in told)
