"""Processes that share a cache, in a file and in Postgres: nothing is paid for twice, limits hold for all."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.structured_output import ask_typed
from graphrag_dagster.kernel.text import prompts
from support.cache_user import CacheUser
from support.endpoint import Fault, Scripted, ScriptedEndpoint
from support.postgres_server import PostgresServer

REQUEST = ChatRequest("hello", (Message("user", "Hello?"),), 50)
REPLY = Scripted("hi", "stop", 12, 8)


@pytest.fixture(params=["sqlite", "postgres"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The place of a new cache."""
    if request.param == "sqlite":
        return str(tmp_path / "replies.sqlite")
    return str(request.getfixturevalue("postgres").emptied())


@pytest.fixture
def two(cache: str, memory_at: Callable[[str], Any]) -> tuple[Any, Any]:
    """The caches of two holders, as two processes have them."""
    return memory_at(cache), memory_at(cache)


def asked(endpoint: ScriptedEndpoint) -> Counter[str]:
    # A process that is killed may send a part of a request.
    return Counter(one.last for one in endpoint.chats if one.messages)


def held(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.execute("select count(*) from held_keys").fetchone()[0])


def wait_for(is_so: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.long
def test_two_processes_pay_for_no_prompt_twice_though_their_clocks_are_apart(cache: str) -> None:
    with ScriptedEndpoint(lambda _: REPLY, seconds=0.01) as endpoint:
        users = [
            CacheUser(cache, endpoint.url, 500, seed=seed, fast=fast)
            for seed, fast in ((1, 0.0), (2, 7200.0))
        ]
        for user in users:
            user.go()
        assert [user.end()["answered"] for user in users] == [500, 500]
        assert (len(asked(endpoint)), len(endpoint.chats)) == (500, 500)
    database = Database(cache)
    used = UsageLog(database).of_run("c", "r1")
    assert (used.calls, used.cached, used.tokens) == (500, 500, 500 * 20)
    assert held(database) == 0
    database.close()


@pytest.mark.long
def test_what_a_killed_process_asked_for_is_asked_by_the_other(cache: str) -> None:
    with ScriptedEndpoint(lambda _: REPLY, seconds=0.2) as endpoint:
        killed, other = (CacheUser(cache, endpoint.url, 200, seed=1, life=1.5) for _ in range(2))
        killed.go()
        wait_for(lambda: len(endpoint.chats) > 60)
        killed.process.kill()
        killed.process.wait(10)
        database = Database(cache)
        under_way = held(database)
        assert under_way > 0
        other.go()
        assert other.end()["answered"] == 200
        times = asked(endpoint)
        # Twice only what was on its way, whose replies nobody could keep.
        assert len(times) == 200
        assert times.total() - 200 == sum(number == 2 for number in times.values()) <= under_way
    assert held(database) == 0
    database.close()


def test_who_waits_gets_the_reply_of_the_other(two: tuple[Any, Any]) -> None:
    with ScriptedEndpoint(lambda _: REPLY, seconds=0.3) as endpoint:

        async def both() -> list[ChatReply]:
            async def kept(memory: Any) -> ChatReply:
                model = memory.chat(endpoint)
                reply: ChatReply = await model.complete(REQUEST)
                model.remember(REQUEST, reply)
                return reply

            return await asyncio.gather(*map(kept, two))

        assert [reply.text for reply in run_one(both())] == ["hi", "hi"]
        assert len(endpoint.chats) == 1
    # Each sees what it has written itself, in a thread perhaps.
    used = [memory.used() for memory in reversed(two)][1]
    assert (used.calls, used.cached, used.saved_tokens) == (1, 1, 20)
    assert two[1].count("uses") == 1


def test_a_call_that_fails_frees_the_lease(two: tuple[Any, Any]) -> None:
    with ScriptedEndpoint(lambda _: REPLY, faults=[Fault(400, "no", delay=0.2)], seconds=0.01) as endpoint:

        async def both() -> list[Any]:
            first = asyncio.ensure_future(two[0].chat(endpoint).complete(REQUEST))
            await asyncio.sleep(0.1)
            second = asyncio.ensure_future(two[1].chat(endpoint).complete(REQUEST))
            return await asyncio.gather(first, second, return_exceptions=True)

        failed, reply = run_one(both())
        assert isinstance(failed, CallFailed)
        assert reply.text == "hi"
        assert len(endpoint.chats) == 2


def test_who_asks_again_for_a_usable_reply_is_still_waited_for(two: tuple[Any, Any]) -> None:
    class Shape(BaseModel):
        answer: str

    replies = ["no json", "no json", "still none", '{"answer": "hi"}']
    with ScriptedEndpoint(lambda _: replies.pop(0), seconds=0.1) as endpoint:
        request = ChatRequest("hello", (Message("user", "Hello?"),), 50, Shape)
        retry = prompts.load("retry")

        async def both() -> list[Any]:
            first = asyncio.ensure_future(ask_typed(two[0].chat(endpoint), request, Shape, retry))
            await asyncio.sleep(0.05)
            return [await ask_typed(two[1].chat(endpoint), request, Shape, retry), await first]

        assert [made.text for made in run_one(both())] == ['{"answer": "hi"}'] * 2
        assert len(endpoint.chats) == 4


def test_what_is_cancelled_while_it_waits_or_asks_leaves_no_lease(two: tuple[Any, Any]) -> None:
    with ScriptedEndpoint(lambda _: REPLY, seconds=5) as endpoint:

        async def both() -> None:
            calls = [asyncio.ensure_future(memory.chat(endpoint).complete(REQUEST)) for memory in two]
            # Some before the round that asks for a lease has answered.
            await asyncio.sleep(0.2)
            calls += [
                asyncio.ensure_future(two[0].chat(endpoint).complete(ChatRequest("hello", (), n)))
                for n in range(1, 9)
            ]
            for call in calls:
                call.cancel()
                await asyncio.sleep(0)
            await asyncio.gather(*calls, return_exceptions=True)
            await asyncio.sleep(0.1)

        run_one(both())
    assert held(two[0].database) == 0


def test_a_text_is_embedded_by_one_of_them(two: tuple[Any, Any]) -> None:
    texts = [f"text {number}" for number in range(40)]
    with ScriptedEndpoint(seconds=0.2) as endpoint:
        vectors: dict[int, Any] = {}

        def embed(number: int) -> None:
            chosen = texts[: 30 + number] if number else texts[10:]
            vectors[number] = two[number].embedder(endpoint, batch=8).embed(chosen)

        threads = [threading.Thread(target=embed, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        sent = Counter(text for one in endpoint.requests for text in one.body.get("input", ()))
        assert sorted(sent) == sorted(texts)
        assert set(sent.values()) == {1}
    assert (vectors[0][0] == vectors[1][10]).all()
    assert [held(memory.database) for memory in reversed(two)][1] == 0


@pytest.mark.long
def test_a_postgres_server_that_is_killed_and_comes_back_costs_no_call(
    postgres: PostgresServer,
) -> None:
    url = postgres.emptied()
    with ScriptedEndpoint(lambda _: REPLY, seconds=0.02) as endpoint:
        users = [CacheUser(url, endpoint.url, 400, seed=seed) for seed in (1, 2)]
        for user in users:
            user.go()
        for many in (60, 200):
            wait_for(lambda many=many: len(endpoint.chats) > many)  # type: ignore[misc]
            postgres.kill()
            time.sleep(0.5)
            postgres.start()
        assert [user.end()["answered"] for user in users] == [400, 400]
        assert (len(asked(endpoint)), len(endpoint.chats)) == (400, 400)
    database = Database(url)
    used = UsageLog(database).of_run("c", "r1")
    assert (used.calls, used.cached, used.tokens) == (400, 400, 400 * 20)
    database.close()
