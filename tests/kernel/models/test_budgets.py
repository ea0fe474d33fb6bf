"""A limit is never passed, and nothing is given up while calls in flight may leave room."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.models.cache.usage_account import CostMeter
from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order, run_one
from graphrag_dagster.kernel.models.chat.structured_output import ask
from graphrag_dagster.kernel.models.model_costs import Budget, BudgetExhausted, ModelUse
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.text import prompts
from support.endpoint import Scripted, ScriptedEndpoint

RETRY = prompts.load("retry")
CALLS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 100), st.integers(0, 3)), min_size=1, max_size=25
)


_runs = count()


class Run:
    """A new run with limits, of a model whose tokens cost a cent each."""

    def __init__(self, memory: Any, budget: Budget) -> None:
        self._memory, self._run = memory, f"run {next(_runs)}"
        account = memory.account(run=self._run, budget=budget)
        priced = ModelSettings(prices={"input": 10_000.0, "output": 10_000.0})
        self._meter = CostMeter(account, priced, "scripted", "")

    async def reserve(self, tokens: int) -> ModelUse:
        return await self._meter.reserve(tokens, 0)

    def settle(self, worst: ModelUse, tokens: int) -> None:
        self._meter.settle(worst, "hello", ModelUse(calls=1, input_tokens=tokens))

    @property
    def spent(self) -> ModelUse:
        used: ModelUse = self._memory.used(run=self._run)
        return used


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(CALLS, st.one_of(st.none(), st.integers(0, 400)), st.one_of(st.none(), st.integers(0, 400)))
def test_no_limit_is_ever_passed(
    memory: Any, calls: list[tuple[int, int, int]], most_tokens: int | None, most_cents: int | None
) -> None:
    async def made() -> None:
        run = Run(memory, Budget(most_tokens, None if most_cents is None else most_cents / 100))
        given_up: list[int] = []

        async def one(worst_tokens: int, share: int, steps: int) -> None:
            try:
                worst = await run.reserve(worst_tokens)
            except BudgetExhausted:
                given_up.append(run.spent.tokens + worst_tokens)
                return
            for _ in range(steps):
                await asyncio.sleep(0)
            run.settle(worst, worst_tokens * share // 100)
            assert most_tokens is None or run.spent.tokens <= most_tokens
            assert most_cents is None or run.spent.usd <= most_cents / 100 + 1e-9

        await asyncio.wait_for(asyncio.gather(*(one(*call) for call in calls)), 10)
        for needed in given_up:
            assert (most_tokens is not None and needed > most_tokens) or (
                most_cents is not None and needed > most_cents
            )
        assert memory.reserved() == (0, 0)

    asyncio.run(made())


def test_a_call_waits_for_those_in_flight_before_it_is_given_up(memory: Any) -> None:
    async def made() -> list[str]:
        run, seen = Run(memory, Budget(max_tokens=100)), list[str]()
        first = await run.reserve(80)

        async def second() -> ModelUse:
            worst = await run.reserve(60)
            seen.append("second")
            return worst

        waiting = asyncio.ensure_future(second())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        run.settle(first, 30)
        run.settle(await asyncio.wait_for(waiting, 1), 60)
        with pytest.raises(BudgetExhausted):
            await run.reserve(11)
        return seen

    assert asyncio.run(made()) == ["second"]


def test_who_is_cancelled_while_waiting_takes_no_room(memory: Any) -> None:
    async def made() -> None:
        run = Run(memory, Budget(max_tokens=100))
        first = await run.reserve(80)
        waiting = [asyncio.ensure_future(run.reserve(60)) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        run.settle(first, 40)
        await asyncio.wait_for(waiting[1], 1)
        assert memory.reserved() == (1, 60)

    asyncio.run(made())


def test_assets_of_one_process_share_the_limit_of_their_run(memory: Any) -> None:
    async def made() -> None:
        budget = Budget(max_tokens=100)
        one, two = (memory.account(asset=asset, budget=budget) for asset in "ab")
        worst = ModelUse(input_tokens=80)
        await one.reserve(worst)
        waiting = asyncio.ensure_future(two.reserve(ModelUse(input_tokens=60)))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        one.release(worst)
        await asyncio.wait_for(waiting, 5)

    asyncio.run(made())


def test_what_other_processes_have_spent_counts(memory: Any, memory_at: Callable[[str], Any]) -> None:
    other = memory_at(memory.database.place)
    other.account().book("hello", "m", ModelUse(calls=1, input_tokens=90))
    assert other.used().calls == 1
    account = memory.account(budget=Budget(max_tokens=100))
    with pytest.raises(BudgetExhausted, match="spent 90 of 100 tokens"):
        run_one(account.reserve(ModelUse(input_tokens=20)))


def test_the_error_says_what_was_spent(memory: Any) -> None:
    async def made() -> None:
        run = Run(memory, Budget(max_tokens=1000, max_usd=12.0))
        run.settle(await run.reserve(900), 900)
        with pytest.raises(BudgetExhausted, match=r"900 of 1,000 tokens and \$9.0000 of \$12.0000") as raised:
            await run.reserve(200)
        assert raised.value.exit_code == 4
        assert "200 tokens" in str(raised.value)

    asyncio.run(made())


def _requests(many: int) -> list[ChatRequest]:
    return [ChatRequest("hello", (Message("user", f"Question {n} of many?"),), 30) for n in range(many)]


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
            assert memory.reserved() == (0, 0)
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
    assert (memory.used().tokens, memory.reserved()) == (0, (0, 0))
    assert (memory.used().failed, memory.used().calls) == (3, 0)
