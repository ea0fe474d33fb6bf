"""A limit is never passed, and nothing is given up while calls in flight may leave room."""

import asyncio
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order
from graphrag_dagster.kernel.models.chat.structured_output import ask
from graphrag_dagster.kernel.models.model_costs import Amount, Budget, BudgetExhausted
from graphrag_dagster.kernel.tasks import prompts
from support.endpoint import Scripted, ScriptedEndpoint

RETRY = prompts.load("retry")
CALLS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 100), st.integers(0, 3)), min_size=1, max_size=25
)


@given(CALLS, st.one_of(st.none(), st.integers(0, 400)), st.one_of(st.none(), st.integers(0, 400)))
def test_no_limit_is_ever_passed(
    calls: list[tuple[int, int, int]], most_tokens: int | None, most_cents: int | None
) -> None:
    async def run() -> None:
        budget = Budget(most_tokens, None if most_cents is None else most_cents / 100)
        given_up: list[Amount] = []

        async def one(worst_tokens: int, share: int, steps: int) -> None:
            worst = Amount(worst_tokens, worst_tokens / 100)
            try:
                await budget.reserve(worst)
            except BudgetExhausted:
                given_up.append(budget.spent + worst)
                return
            for _ in range(steps):
                await asyncio.sleep(0)
            used = worst_tokens * share // 100
            budget.settle(worst, Amount(used, used / 100))
            assert most_tokens is None or budget.spent.tokens <= most_tokens
            assert most_cents is None or budget.spent.usd <= most_cents / 100 + 1e-9

        await asyncio.wait_for(asyncio.gather(*(one(*call) for call in calls)), 5)
        for needed in given_up:
            assert (most_tokens is not None and needed.tokens > most_tokens) or (
                most_cents is not None and needed.usd > most_cents / 100
            )
        assert budget._in_flight == 0
        assert budget._reserved.tokens == 0

    asyncio.run(run())


def test_a_call_waits_for_those_in_flight_before_it_is_given_up() -> None:
    async def run() -> list[str]:
        budget, seen = Budget(max_tokens=100), list[str]()
        await budget.reserve(Amount(80))

        async def second() -> None:
            await budget.reserve(Amount(60))
            seen.append("second")

        waiting = asyncio.ensure_future(second())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        budget.settle(Amount(80), Amount(30))
        await asyncio.wait_for(waiting, 1)
        budget.settle(Amount(60), Amount(60))
        with pytest.raises(BudgetExhausted):
            await budget.reserve(Amount(11))
        return seen

    assert asyncio.run(run()) == ["second"]


def test_who_is_cancelled_while_waiting_takes_no_room() -> None:
    async def run() -> None:
        budget = Budget(max_tokens=100)
        await budget.reserve(Amount(80))
        waiting = [asyncio.ensure_future(budget.reserve(Amount(60))) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        budget.settle(Amount(80), Amount(40))
        await asyncio.wait_for(waiting[1], 1)
        assert budget._in_flight == 1

    asyncio.run(run())


def test_the_error_says_what_was_spent() -> None:
    budget = Budget(max_tokens=1000, max_usd=0.5, spent=Amount(900, 0.25))
    with pytest.raises(BudgetExhausted, match=r"900 of 1,000 tokens and \$0.2500 of \$0.5000") as raised:
        asyncio.run(budget.reserve(Amount(200, 0.1)))
    assert raised.value.exit_code == 4
    assert "200 tokens" in str(raised.value)


def _requests(count: int) -> list[ChatRequest]:
    return [ChatRequest("hello", (Message("user", f"Question {n} of many?"),), 30) for n in range(count)]


def test_a_run_stops_before_its_limit_and_goes_on_from_memory(memory: Any) -> None:
    def read(text: str) -> tuple[str, bool]:
        return text, False

    with ScriptedEndpoint(lambda _: Scripted("hi", "stop", 12, 8), seconds=0.005) as endpoint:
        for run in ("r1", "r2"):
            budget = Budget(max_tokens=1000)
            model = memory.chat(endpoint, memory.account(run=run, budget=budget))
            work = partial(ask, model, read=read, retry=RETRY)
            with pytest.raises(BudgetExhausted):
                list(run_in_order(work, _requests(200), calls=8))
            used = memory.used(run=run)
            assert 0 < used.tokens <= 1000
            assert used.tokens == budget.spent.tokens
            # What was paid for was also kept.
            assert memory.count("replies") == len(endpoint.chats)
    assert memory.used(run="r2").cached == memory.used(run="r1").calls
    assert used.calls > 0


def test_money_is_limited_by_the_prices_of_the_settings(memory: Any) -> None:
    with ScriptedEndpoint(lambda _: Scripted("hi", "stop", 10, 30)) as endpoint:
        budget = Budget(max_usd=0.01)
        prices = {"input": 10.0, "output": 100.0}
        model = memory.chat(endpoint, memory.account(budget=budget), prices=prices)
        with pytest.raises(BudgetExhausted, match=r"of \$0.0100"):
            list(run_in_order(model.complete, _requests(20), calls=1))
    used = memory.used()
    assert used.usd == pytest.approx(used.calls * (10 * 10 + 30 * 100) / 1e6)
    assert 0 < used.usd <= 0.01


def test_money_cannot_be_limited_without_a_price(memory: Any) -> None:
    account = memory.account(budget=Budget(max_usd=1.0))
    with ScriptedEndpoint() as endpoint:
        with pytest.raises(SettingsError, match="the price of scripted is not known.*set model.prices"):
            memory.chat(endpoint, account)
        memory.chat(endpoint, account, prices={"input": 1.0})


def test_a_failed_call_gives_back_what_it_reserved(memory: Any) -> None:
    def script(_: dict[str, Any]) -> str:
        return json.dumps({})

    budget = Budget(max_tokens=10_000)
    with ScriptedEndpoint(script, context_tokens=1) as endpoint:
        model = memory.chat(endpoint, memory.account(budget=budget))
        for request in _requests(3):
            with pytest.raises(Exception, match="rejected"):
                asyncio.run(model.complete(request))
    assert (budget.spent.tokens, budget._reserved.tokens, budget._in_flight) == (0, 0, 0)
    assert (memory.used().failed, memory.used().calls) == (3, 0)
