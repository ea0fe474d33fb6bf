"""Turns, time limits, streams and the cache of opened indexes, over real sockets."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx2 as httpx
import pytest

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.service.settings import ServiceSettings
from support.served import PIECES, TEXT, FaultyLibrary, serving, until

ASK = "/corpora/coast/ask"
QUESTION = {"question": "Who led the Dockers Union?"}
PATIENT = ServiceSettings(port=0, max_open=2, max_asks=2, head_start_seconds=1.0, ping_seconds=0.1)
HASTY = replace(PATIENT, queue_seconds=0.2, answer_seconds=0.8, head_start_seconds=0.1)


@pytest.fixture
def url(library: FaultyLibrary) -> Iterator[str]:
    with serving(library, PATIENT) as made:
        yield made
        library.gate.set()
        library.between.set()


@pytest.fixture
def hasty(library: FaultyLibrary) -> Iterator[str]:
    with serving(library, HASTY) as made:
        yield made
        library.gate.set()


def events_of(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_a_stream_gives_the_pieces_and_then_the_whole_answer(url: str, library: FaultyLibrary) -> None:
    library.pieces = PIECES
    answer = httpx.post(url + ASK, json={**QUESTION, "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    assert [kind for kind, _ in events] == ["delta"] * len(PIECES) + ["answer"]
    assert "".join(data["text"] for kind, data in events[:-1]) == "".join(PIECES)
    whole = httpx.post(url + ASK, json=QUESTION).json()
    assert events[-1][1] == whole
    assert whole["text"] == TEXT


def test_pieces_come_while_the_answer_is_being_written(url: str, library: FaultyLibrary) -> None:
    library.pieces = PIECES
    library.gate.clear()
    with httpx.stream("POST", url + ASK, json={**QUESTION, "stream": True}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: delta"
        assert library.running == 1
        library.gate.set()
        assert "event: answer" in list(lines)


def test_a_silent_stream_gives_signs_of_life(url: str, library: FaultyLibrary) -> None:
    library.gate.clear()
    with httpx.stream("POST", url + ASK, json={**QUESTION, "stream": True}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": ping"
        library.gate.set()
        assert "event: answer" in list(lines)


def test_a_stream_that_fails_at_once_has_its_own_status(url: str, library: FaultyLibrary) -> None:
    library.error = EndpointError("the model endpoint is not there")
    answer = httpx.post(url + ASK, json={**QUESTION, "stream": True})
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "model_failed")
    assert httpx.post(f"{url}/corpora/none/ask", json={**QUESTION, "stream": True}).status_code == 404


def test_a_stream_that_dies_ends_with_an_error(url: str, library: FaultyLibrary) -> None:
    library.pieces, library.breaks_after = PIECES, 2
    events = events_of(httpx.post(url + ASK, json={**QUESTION, "stream": True}).text)
    assert [kind for kind, _ in events] == ["delta", "delta", "error"]
    message = "the model endpoint went away; start it again"
    assert events[-1][1] == {"error": {"type": "model_failed", "message": message}}


def test_an_answer_that_takes_too_long_is_dropped_and_keeps_its_place(
    hasty: str, library: FaultyLibrary
) -> None:
    library.gate.clear()
    with ThreadPoolExecutor(2) as pool:
        slow = list(pool.map(lambda _: httpx.post(hasty + ASK, json=QUESTION), range(2)))
    assert [(s.status_code, s.json()["error"]["type"]) for s in slow] == [(504, "too_slow")] * 2
    assert library.running == 2
    busy = httpx.post(hasty + ASK, json=QUESTION)
    assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
    assert busy.json()["error"]["type"] == "busy"
    assert httpx.get(hasty + "/corpora/coast/reports/r1").status_code == 200
    library.gate.set()
    until(lambda: library.running == 0)
    assert httpx.post(hasty + ASK, json=QUESTION).status_code == 200


def test_a_stream_that_takes_too_long_ends_with_an_error(hasty: str, library: FaultyLibrary) -> None:
    library.gate.clear()
    events = events_of(httpx.post(hasty + ASK, json={**QUESTION, "stream": True}).text)
    assert [data["error"]["type"] for _, data in events] == ["too_slow"]


def test_who_waits_gets_the_place_that_is_freed(url: str, library: FaultyLibrary) -> None:
    library.pieces, library.pause = ("a",), 0.1
    with ThreadPoolExecutor(4) as pool:
        codes = [a.status_code for a in pool.map(lambda _: httpx.post(url + ASK, json=QUESTION), range(4))]
    assert codes == [200] * 4


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_leaves_nothing_behind(
    url: str, library: FaultyLibrary, stream: bool
) -> None:
    library.gate.clear()
    library.pieces = PIECES
    for number in (1, 2):
        leave(url, {**QUESTION, "stream": stream}, when=lambda number=number: library.running == number)
    # Who waits for a turn and goes away does not take it.
    leave(url, QUESTION)
    time.sleep(0.05)
    library.gate.set()
    until(lambda: library.running == 0)
    time.sleep(0.3)
    assert len(library.asked) == 2
    with ThreadPoolExecutor(2) as pool:
        codes = [a.status_code for a in pool.map(lambda _: httpx.post(url + ASK, json=QUESTION), range(2))]
    assert codes == [200, 200]


def leave(url: str, body: dict[str, Any], when: Callable[[], bool] | None = None) -> None:
    """Send a question and close the connection without reading the answer, once something is so."""
    address, sent = httpx.URL(url), json.dumps(body).encode()
    head = f"POST {ASK} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with socket.create_connection((address.host, address.port or 80)) as connection:
        connection.sendall(f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent)
        if when:
            until(when)
        else:
            time.sleep(0.1)


def test_a_corpus_is_opened_once_and_again_when_it_is_published_anew(
    url: str, library: FaultyLibrary
) -> None:
    library.open_seconds = 0.2
    report = "/corpora/coast/reports/r1"
    with ThreadPoolExecutor(8) as pool:
        codes = [a.status_code for a in pool.map(lambda _: httpx.get(url + report), range(8))]
    assert codes == [200] * 8
    assert library.opened == ["coast"]
    library.version = "2"
    assert httpx.get(url + report).status_code == 200
    assert library.opened == ["coast", "coast"]
    assert {c["version"] for c in httpx.get(url + "/corpora").json()["corpora"]} == {"snapshot 2"}


def test_the_corpora_used_last_stay_open(url: str, library: FaultyLibrary) -> None:
    for name in ("coast", "inland", "coast", "upland", "coast", "inland"):
        assert httpx.get(f"{url}/corpora/{name}/reports/r1").status_code == 200
    assert library.opened == ["coast", "inland", "upland", "inland"]


def test_a_corpus_that_cannot_be_opened_is_tried_again(url: str, library: FaultyLibrary) -> None:
    for name, status in {"bare": 409, "torn": 409, "nowhere": 404}.items():
        assert httpx.get(f"{url}/corpora/{name}/reports/r1").status_code == status
    library.known = ("nowhere",)
    assert httpx.get(f"{url}/corpora/nowhere/reports/r1").status_code == 200
