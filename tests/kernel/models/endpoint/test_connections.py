"""Connections to an endpoint: as many as there are calls at a time, used again, closed when nobody needs them."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint import openai_client as client
from support.endpoint import ScriptedEndpoint

SOME = 5


def noted(endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """The arguments of all calls of a method of the server from now on."""
    seen: list[Any] = []
    done = getattr(endpoint._server, name)

    def note(*given: Any) -> None:
        seen.append(given)
        done(*given)

    monkeypatch.setattr(endpoint._server, name, note)
    return seen


def ask(model: Any, first: int, calls: int = 1) -> None:
    async def at_once() -> None:
        requests = (ChatRequest("hello", (Message("user", f"{first + n}"),), 50) for n in range(calls))
        await asyncio.gather(*map(model.complete, requests))

    run_one(at_once())


def test_a_call_uses_the_connection_of_one_that_is_answered(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedEndpoint(lambda _: "hi", together=SOME) as endpoint:
        model, connections = model_of(endpoint), noted(endpoint, monkeypatch, "process_request")
        ask(model, 0, SOME)
        assert len(connections) == SOME
        ask(model, SOME, SOME)
        for number in range(3):
            ask(model, 2 * SOME + number)
        assert len(connections) == SOME
        assert len(endpoint.chats) == 2 * SOME + 3


def test_a_connection_that_nobody_used_for_a_while_is_closed(
    model_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedEndpoint(lambda _: "hi") as endpoint:
        model, connections = model_of(endpoint), noted(endpoint, monkeypatch, "process_request")
        closed = noted(endpoint, monkeypatch, "shutdown_request")
        monkeypatch.setattr(client, "_KEPT", -1.0)
        for number in range(3):
            ask(model, number)
        assert len(connections) == 3
        until = time.monotonic() + 20
        while len(closed) < 3 and time.monotonic() < until:
            time.sleep(0.005)
        assert len(closed) == 3
