import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest

from graphrag_dagster.kernel.text import prompts
from support.conversations import asked_of
from support.endpoint import Fault, Scripted, ScriptedEndpoint, gleaning_script, wordy_script
from support.probes import fill
from support.serve import ServedEndpoint
from support.short_ways import HI, chat, client, ten_words
from support.tallies import Logged, concurrency

TEXT = "Ann Lee met Bo Ray. Bo Ray left Port Ellery. Cy Dunn stayed. Di Falk wrote to Cy Dunn."


def extraction(text: str = TEXT, *turns: str) -> dict[str, Any]:
    user = prompts.load("extract_graph_user").render(
        entity_types="PERSON", source_text=f"<source_text>\n{text}\n</source_text>"
    )
    said = [user, *turns]
    roles = [{"role": "assistant" if i % 2 else "user", "content": said[i]} for i in range(len(said))]
    return {"model": "scripted", "messages": [{"role": "system", "content": "Read."}, *roles]}


def names(reply: Scripted | str) -> set[str]:
    text = reply.text if isinstance(reply, Scripted) else reply
    return {one["name"] for one in json.loads(text)["entities"]}


def test_the_account_tells_tasks_repetitions_and_tokens() -> None:
    with ScriptedEndpoint(faults=[Fault(500), None]) as endpoint:
        with pytest.raises(openai.InternalServerError):
            chat(endpoint, **extraction())
        for _ in range(2):
            chat(endpoint, **extraction())
        chat(endpoint, seed=1, **extraction())
        chat(endpoint)
        client(endpoint).embeddings.create(model="m", input=["a"])
        told = endpoint.tally()
        endpoint.reset()
        assert endpoint.tally()["calls"] == {}
    assert told["calls"] == {"embeddings": 1, "extract_graph": 4, "other": 1}
    assert told["statuses"] == {"200": 5, "500": 1}
    assert told["repeated"] == 1
    assert told["output_tokens"] > 0


def test_concurrency_is_weighed_by_time() -> None:
    def one(begun: float, ended: float) -> Logged:
        return Logged("/v1/chat/completions", {}, {}, begun=begun, ended=ended)

    ones = [one(0, 4), one(2, 4), one(8, 10)]
    assert concurrency(ones) == (2, pytest.approx(8 / 6))
    assert concurrency(ones, gaps=True) == (2, pytest.approx(0.8))
    assert concurrency([]) == (0, 0.0)


def test_requests_in_flight_are_counted() -> None:
    with ScriptedEndpoint(ten_words, together=6) as endpoint:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda _: chat(endpoint), range(6)))
        told = endpoint.tally()
        assert told["highest"] == endpoint.max_in_flight
        assert endpoint.concurrency_by_task().keys() == {"other"}
    assert told["highest"] == 6
    assert 1 < told["mean"] <= 6


def test_an_answer_to_a_client_that_left_was_not_sent() -> None:
    with ScriptedEndpoint(ten_words, seconds=0.1) as endpoint:
        where = urlsplit(endpoint.url)
        body = json.dumps({"model": "m", "messages": HI}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((where.hostname, where.port)) as connection:
            connection.sendall(head.encode() + body)
            while not endpoint.requests:
                time.sleep(0.005)
        while endpoint.requests[0].ended is None:
            time.sleep(0.005)
        assert not endpoint.requests[0].sent


def test_many_connections_at_the_same_moment_are_served() -> None:
    async def all_at_once(url: str) -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as asynchronous:
            calls = (
                asynchronous.chat.completions.create(model="m", messages=HI)  # type: ignore[arg-type]
                for _ in range(64)
            )
            await asyncio.gather(*calls)

    with ScriptedEndpoint(ten_words, together=64) as endpoint:
        asyncio.run(all_at_once(endpoint.url))
        assert endpoint.max_in_flight == 64


def test_tasks_are_told_through_turns_that_ask_again() -> None:
    retry = prompts.load("retry").render(reason="the reply is empty")
    check, more = (prompts.load(name).text for name in ("glean_check", "glean_continue"))
    assert asked_of(extraction(TEXT, "{", retry)).task == "extract_graph"
    assert asked_of(extraction(TEXT, "{}", check)).task == "glean_check"
    assert asked_of(extraction(TEXT, "{}", more, "{", retry)).task == "glean_continue"
    assert not asked_of(extraction(TEXT, "{}", more)).continued
    assert asked_of(extraction(TEXT, "{}", more, "{}", check)).continued


def test_gleaning_brings_what_the_second_half_names() -> None:
    check, more = (prompts.load(name).text for name in ("glean_check", "glean_continue"))
    first = gleaning_script(extraction())
    later = gleaning_script(extraction(TEXT, "{}", more))
    assert names(first) == {"Ann Lee", "Bo Ray", "Port Ellery"}
    assert names(later) == {"Cy Dunn", "Di Falk"}
    assert gleaning_script(extraction(TEXT, "{}", check)) == Scripted("YES")
    assert gleaning_script(extraction(TEXT, "{}", more, "{}", check)) == Scripted("NO")


def test_a_wordy_reply_is_about_as_long_as_real_ones(shared_data: Path) -> None:
    passages = json.loads((shared_data / "hipporag" / "2wikimultihopqa_corpus.json").read_text())[:240]
    texts = ["\n".join(one["text"] for one in passages[i : i + 6]) for i in range(0, len(passages), 6)]
    replies = [wordy_script(extraction(text[:2400])) for text in texts]
    mean = sum(len(str(reply)) // 4 for reply in replies) / len(replies)
    assert 1200 < mean < 2300


def test_probes_get_sensible_replies() -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "size": {"$ref": "#/$defs/Size"}, "more": {}},
        "required": ["name", "size"],
        "$defs": {"Size": {"enum": ["S", "M"]}},
    }
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    shown = prompts.load("json_only").render(schema=json.dumps(schema))
    with ScriptedEndpoint() as endpoint:
        for more in ({"response_format": form}, {"messages": [{"role": "user", "content": shown}]}):
            assert json.loads(chat(endpoint, **more).choices[0].message.content) == {
                "name": "text",
                "size": "S",
            }
        assert chat(endpoint, logit_bias={"9": 100}, max_tokens=1).choices[0].message.content == " YES"
        assert chat(endpoint).choices[0].message.content == "There is nothing to say."
        assert endpoint.tally()["calls"] == {"other": 2, "probe": 2}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, True),
        ({"type": ["number", "null"], "maximum": 0.5}, 0.5),
        ({"type": "integer", "minimum": 3, "maximum": 9}, 3),
        ({"const": "fixed"}, "fixed"),
        ({"properties": {"a": {"type": "null"}}}, {"a": None}),
    ],
)
def test_data_follows_a_schema(schema: dict[str, Any], value: Any) -> None:
    assert fill(schema, schema) == value


def test_the_server_in_its_own_process_keeps_a_log() -> None:
    config = {"script": "gleaning", "error_rate": 1.0, "malformed_rate": 0.0, "seed": 1}
    with ServedEndpoint(seconds=0.01) as endpoint:
        assert names(chat(endpoint, **extraction()).choices[0].message.content) >= {"Ann Lee"}
        told = endpoint.tally()
        endpoint.reset()
        assert endpoint.tally()["calls"] == {}
        begun, ended = endpoint.log()
    assert told["calls"] == {"extract_graph": 1}
    assert told["concurrency_by_task"]["extract_graph"][0] == 1
    assert told["cpu_seconds"] > 0
    assert (begun["event"], begun["ended"], begun["sent"]) == ("begin", None, False)
    assert (ended["event"], ended["status"], ended["sent"]) == ("end", 200, True)
    assert begun["sha"] == ended["sha"]
    assert ended["tokens"] > 0
    with ServedEndpoint(**config) as endpoint, pytest.raises(openai.APIError):
        chat(endpoint)


def test_a_hanging_answer_does_not_outlive_the_server() -> None:
    before = threading.active_count()
    with ScriptedEndpoint(faults=[Fault(hang=30)]) as endpoint, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(chat, endpoint)
        while not endpoint.requests:
            time.sleep(0.005)
        endpoint.__exit__()
        with pytest.raises(openai.APIConnectionError):
            asked.result(timeout=2)
    time.sleep(0.05)
    assert threading.active_count() <= before
