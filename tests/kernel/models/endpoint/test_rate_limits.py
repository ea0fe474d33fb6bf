"""How many calls, and how fast: the window and the rates."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order, run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries
from graphrag_dagster.kernel.models.endpoint.rate_limits import Limits
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.systems.graphrag.llm.llm_extractors import LlmGraphExtractor
from support import virtual_time
from support.endpoint import Fault, ScriptedEndpoint


def request(number: int = 0) -> ChatRequest:
    return ChatRequest("hello", (Message("user", f"Hello {number}?"),), 20)


def ask_many(model: Any, count: int, calls: int = 16) -> list[ChatReply]:
    return list(run_in_order(model.complete, [request(n) for n in range(count)], calls=calls))


def clocked(most: int, **rates: int) -> tuple[Limits, Callable[[], float]]:
    """Limits on the clock of the running loop, and that clock."""
    clock = asyncio.get_running_loop().time
    return Limits(most, clock=clock, **rates), clock


def begun(count: int, *, each: int, **rates: int) -> list[float]:
    """When each of so many calls began, in seconds after the first."""

    async def all_at_once() -> list[float]:
        limits, clock = clocked(100, **rates)
        moments: list[float] = []

        async def one() -> None:
            ticket = await limits.enter(each)
            moments.append(clock())
            limits.leave(ticket, each)

        await asyncio.gather(*(one() for _ in range(count)))
        return [moment - moments[0] for moment in moments]

    return virtual_time.run(all_at_once())


def test_the_window_halves_once_for_calls_in_flight_together_and_opens_again() -> None:
    async def run() -> list[int]:
        limits = Limits(16)
        tickets = [await limits.enter(1) for _ in range(16)]
        windows = [limits.window]
        for ticket in tickets[:8]:
            limits.on_overload(ticket)
            limits.leave(ticket, 0)
        windows.append(limits.window)
        for ticket in tickets[8:]:
            limits.leave(ticket, 0)
        limits.on_overload(await limits.enter(1))
        windows.append(limits.window)
        for _ in range(100):
            limits.on_answer()
        return [*windows, limits.window]

    assert asyncio.run(run()) == [16, 8, 4, 16]


@given(st.lists(st.sampled_from(["answered", "too many"]), max_size=60), st.integers(1, 20))
def test_the_window_stays_between_one_and_what_is_set(events: list[str], most: int) -> None:
    async def run() -> None:
        limits = Limits(most)
        for event in events:
            ticket = await limits.enter(1)
            if event == "answered":
                limits.on_answer()
            else:
                limits.on_overload(ticket)
            limits.leave(ticket, 1)
            assert 1 <= limits.window <= most
        assert limits.in_flight == 0

    asyncio.run(run())


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.lists(st.booleans(), min_size=1, max_size=30))
def test_no_more_calls_than_the_window_and_none_is_forgotten(most: int, cancelled: list[bool]) -> None:
    async def run() -> None:
        limits = Limits(most)
        served = 0

        async def one() -> None:
            nonlocal served
            ticket = await limits.enter(1)
            try:
                assert limits.in_flight <= most
                await asyncio.sleep(0)
                served += 1
            finally:
                limits.leave(ticket, 1)

        tasks = [asyncio.ensure_future(one()) for _ in cancelled]
        await asyncio.sleep(0)
        for task, stop in zip(tasks, cancelled, strict=True):
            if stop:
                task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2)
        assert served >= cancelled.count(False)
        assert limits.in_flight == 0

    asyncio.run(run())


def test_a_window_that_was_halved_below_the_calls_in_flight_lets_nobody_in() -> None:
    async def run() -> None:
        limits = Limits(8)
        tickets = [await limits.enter(1) for _ in range(7)]
        limits.on_overload(tickets[0])
        waiting = [asyncio.ensure_future(limits.enter(1)) for _ in range(20)]
        await asyncio.sleep(0)
        assert (limits.window, limits.in_flight) == (4, 7)
        for ticket in tickets:
            limits.leave(ticket, 1)
        await asyncio.wait_for(asyncio.gather(*waiting[:4]), 2)
        assert limits.in_flight <= limits.window
        for one in waiting:
            one.cancel()

    asyncio.run(run())


def test_requests_keep_to_their_rate() -> None:
    # Ten a second: one second's worth at once, then one each tenth.
    expected = [max(0, place - 9) * 0.1 for place in range(18)]
    assert begun(18, each=1, requests=600) == pytest.approx(expected)


def test_tokens_keep_to_their_rate() -> None:
    # A hundred a second.
    expected = [max(0, place - 4) * 0.2 for place in range(9)]
    assert begun(9, each=20, tokens=6000) == pytest.approx(expected)


def test_what_a_call_did_not_use_is_given_back_and_what_it_used_more_is_owed() -> None:
    async def run(used: int) -> float:
        limits, clock = clocked(100, tokens=6000)
        for _ in range(2):
            limits.leave(await limits.enter(50), used)
        begin = clock()
        await limits.enter(50)
        return clock() - begin

    assert virtual_time.run(run(10)) == pytest.approx(0, abs=1e-6)
    assert virtual_time.run(run(90)) == pytest.approx(0.9)


def test_a_call_of_more_tokens_than_a_second_holds_waits_for_a_full_one() -> None:
    assert begun(2, each=150, tokens=6000) == pytest.approx([0, 1.5])


def test_what_comes_back_after_a_failure_goes_first() -> None:
    async def run() -> list[str]:
        limits, order = Limits(1), list[str]()

        async def one(name: str, *, first: bool = False) -> None:
            ticket = await limits.enter(1, first=first)
            order.append(name)
            limits.leave(ticket, 1)

        held = await limits.enter(1)
        waiting = [asyncio.ensure_future(one(name)) for name in "abc"]
        await asyncio.sleep(0)
        again = asyncio.ensure_future(one("again", first=True))
        await asyncio.sleep(0)
        limits.leave(held, 1)
        await asyncio.gather(again, *waiting)
        return order

    assert asyncio.run(run()) == ["again", "a", "b", "c"]


def test_a_retry_gives_its_place_away_while_it_waits(model_of: Callable[..., Any]) -> None:
    def faults(number: int, _: dict[str, Any]) -> Fault | None:
        return Fault(500) if number == 0 else None

    with ScriptedEndpoint(lambda _: "hi", faults=faults) as endpoint:
        model = model_of(endpoint, concurrency=1)
        model.connection._first_wait = 0.3
        assert len(ask_many(model, 4, calls=1)) == 4
    asked = [chat.last for chat in endpoint.chats]
    assert asked == [f"Hello {n}?" for n in (0, 1, 2, 3, 0)]


def test_what_one_call_is_told_to_wait_holds_for_all(model_of: Callable[..., Any]) -> None:
    fault = Fault(429, headers={"Retry-After": "0.5"})
    with ScriptedEndpoint(lambda _: "hi", faults=[fault], seconds=0.01) as endpoint:
        assert len(ask_many(model_of(endpoint, concurrency=2), 6)) == 6
    told = endpoint.chats[0].ended or 0.0
    later = [chat.begun - told for chat in endpoint.chats[2:]]
    assert len(later) == 5
    # One call may be on its way before the answer is read.
    assert sum(after > 0.45 for after in later) >= 4


def test_what_a_busy_endpoint_refuses_takes_up_no_retry(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(lambda _: "hi", faults=[Fault(429)] * 7) as endpoint:
        model = model_of(endpoint, retries=0)
        assert run_one(model.send(request(), None, tries := Tries())).reply.text == "hi"
        assert (tries.sent, tries.retries, tries.timeouts) == (8, 7, 0)
    assert len(endpoint.chats) == 8


@pytest.mark.parametrize(("headers", "retry_after"), [(True, True), (False, False)])
def test_a_storm_of_refusals_costs_no_unit(
    model_of: Callable[..., Any], headers: bool, retry_after: bool
) -> None:
    texts = [f"Ann{'abcdefghijklmnopqrstuvwxyz'[n]} Lee met Bo Ray." for n in range(26)]
    endpoint = ScriptedEndpoint(
        requests_per_minute=900, burst=0.01, retry_after=retry_after, rate_headers=headers
    )
    with endpoint:
        model = model_of(endpoint, concurrency=16, retries=1)
        extractor = LlmGraphExtractor(model, entity_types=["person"], gleaning_rounds=0)
        units = list(extractor.extract([TextUnit(f"u{n}", text) for n, text in enumerate(texts)]))
    refused = sum(chat.status == 429 for chat in endpoint.chats)
    assert [unit.state for unit in units] == ["extracted"] * 26
    assert [unit.entities[0].surface for unit in units] == [text.split(" met")[0] for text in texts]
    assert refused > 0
    assert sum(chat.status == 200 for chat in endpoint.chats) == 26
