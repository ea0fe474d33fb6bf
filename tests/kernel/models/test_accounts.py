"""What every run used and what that cost."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.cache.llm_cache import User
from graphrag_dagster.kernel.models.cache.usage_account import CostMeter, price_of
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.structured_output import ask
from graphrag_dagster.kernel.models.model_costs import USE_FIELDS, ModelUse, Price, listed_price
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.text import prompts
from support.endpoint import Fault, Scripted, ScriptedEndpoint

REQUEST = ChatRequest("hello", (Message("user", "Hello?"),), 50)
RETRY = prompts.load("retry")
PRICES = {"input": 2.0, "output": 8.0, "cached_input": 0.5}


def plain(text: str) -> tuple[str, bool]:
    return text, False


def hello(_: dict[str, Any]) -> Scripted:
    return Scripted("hi", "stop", 100, 10, cached_input_tokens=60)


def test_everything_that_was_asked_is_counted(memory: Any) -> None:
    faults = [Fault(500), Fault(empty=True), Fault(429)]
    with ScriptedEndpoint(hello, faults=faults) as endpoint:
        model = memory.chat(endpoint, prices=PRICES)
        for _ in range(3):
            run_one(ask(model, REQUEST, plain, RETRY))
        calls = len(endpoint.chats)
    use = memory.used()
    # An error, an empty reply, a refusal for the moment, and the reply; then twice from memory.
    assert calls == 4
    assert (use.calls, use.retries, use.repeated, use.failed, use.cached) == (2, 2, 1, 0, 2)
    assert use.sent == calls
    assert (use.input_tokens, use.cached_input_tokens, use.output_tokens) == (200, 120, 10)
    assert use.saved_tokens == 220
    assert use.usd == pytest.approx((80 * 2 + 120 * 0.5 + 10 * 8) / 1e6)
    assert (use.unpriced, use.money) == (0, round(use.usd, 6))
    assert use.seconds > 0


def test_failed_calls_are_counted_apart(memory: Any) -> None:
    with ScriptedEndpoint(hello, faults=[Fault(500)] * 3) as endpoint:
        model = memory.chat(endpoint, retries=2)
        with pytest.raises(CallFailed):
            run_one(model.complete(REQUEST))
    use = memory.used()
    assert (use.failed, use.calls, use.retries, use.timeouts) == (1, 0, 2, 0)
    assert use.sent == len(endpoint.chats) == 3
    assert use.seconds > 0


def test_a_model_on_this_machine_has_no_price(memory: Any) -> None:
    with ScriptedEndpoint(hello) as endpoint:
        run_one(memory.chat(endpoint, name="gpt-4.1-mini").complete(REQUEST))
    use = memory.used()
    assert (use.unpriced, use.usd, use.money) == (1, 0.0, None)


def test_prices_are_those_of_the_settings_else_of_the_list() -> None:
    url = "https://api.openai.com/v1"
    listed = price_of(ModelSettings(), "gpt-4.1-mini", url)
    assert listed is not None
    assert 0 < listed.input < listed.output
    assert listed.cached_input < listed.input
    assert price_of(ModelSettings(), "no-such-model-of-anybody", url) is None
    own = price_of(ModelSettings(prices={"input": 1.0, "output": 2.0}), "gpt-4.1-mini", url)
    assert own == Price(1.0, 2.0, 1.0)
    for private in ("http://localhost:1/v1", "http://10.0.0.3/v1", "http://server/v1", "http://[::1]:8/v1"):
        assert listed_price("gpt-4.1-mini", private) is None


def test_a_listed_model_is_priced_by_the_list_a_batch_at_its_discount(memory: Any) -> None:
    url = "https://api.openai.com/v1"
    price = listed_price("gpt-4.1-mini", url)
    assert price is not None
    use = ModelUse(calls=1, input_tokens=1000, cached_input_tokens=400, output_tokens=200)
    full = (600 * price.input + 400 * price.cached_input + 200 * price.output) / 1e6
    for run, discount in (("r1", 1.0), ("r2", 0.5)):
        meter = CostMeter(memory.account(run=run), ModelSettings(), "gpt-4.1-mini", url, discount)
        meter.settle(ModelUse(), "extract", use)
        assert memory.used(run=run).usd == pytest.approx(full * discount)
        assert memory.used(run=run).unpriced == 0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1))
def test_a_price_is_linear_in_its_tokens(tokens: int, output: int, share: float) -> None:
    cached = int(tokens * share)
    price = Price(2.0, 8.0, 0.5)
    expected = ((tokens - cached) * 2.0 + cached * 0.5 + output * 8.0) / 1e6
    assert price.of(tokens, output, cached) == pytest.approx(expected)
    assert price.times(0.5).of(tokens, output, cached) == pytest.approx(expected / 2)


USES = st.builds(
    ModelUse,
    *(st.integers(0, 50) for _ in range(10)),
    st.integers(0, 100).map(lambda cents: cents / 100),
    st.integers(0, 50),
    st.integers(0, 100).map(float),
)


@given(st.lists(USES, max_size=6))
def test_uses_add_up_field_by_field(uses: list[ModelUse]) -> None:
    total = sum(uses, ModelUse())
    for name in USE_FIELDS:
        assert getattr(total, name) == pytest.approx(sum(getattr(use, name) for use in uses))
    assert (total.money is None) is any(use.unpriced for use in uses)


def test_accounts_are_kept_by_run_asset_task_and_model(memory: Any) -> None:
    for corpus, asset, run in (("c", "a", "r1"), ("c", "b", "r1"), ("c", "a", "r2"), ("d", "a", "r1")):
        account = memory.account(corpus, asset, run)
        for task, model in (("extract", "m"), ("extract", "n"), ("report", "m")):
            for _ in range(2):
                account.book(task, model, ModelUse(calls=1, input_tokens=5, usd=0.25, seconds=0.5))
    by_task = memory.log.by_task("c", "r1")
    assert set(by_task) == {
        (a, t, m) for a in "ab" for t, m in (("extract", "m"), ("extract", "n"), ("report", "m"))
    }
    assert set(by_task.values()) == {ModelUse(calls=2, input_tokens=10, usd=0.5, seconds=1.0)}
    assert memory.used().calls == 12
    table = memory.log.table("c")
    assert table.height == 9
    assert table["usd"].sum() == pytest.approx(4.5)


def test_a_finished_asset_tells_what_it_used(memory: Any) -> None:
    account = memory.account()
    assert account.finish() == ModelUse()
    assert memory.count("finished") == 0
    account.book("extract", "m", ModelUse(calls=1))
    memory.account(asset="b").book("extract", "m", ModelUse(calls=7))
    assert account.finish() == ModelUse(calls=1)
    assert memory.count("finished") == 1


def test_the_account_of_a_run_is_a_table_with_money_where_it_is_known(memory: Any) -> None:
    with ScriptedEndpoint(hello) as endpoint:
        run_one(memory.chat(endpoint, prices=PRICES).complete(REQUEST))
        run_one(memory.chat(endpoint, name="local").complete(replace(REQUEST, task="other")))
    rows = {row["task"]: row for row in memory.log.table("c").to_dicts()}
    assert rows["hello"]["usd"] == pytest.approx((40 * 2 + 60 * 0.5 + 10 * 8) / 1e6)
    assert rows["other"]["usd"] is None
    assert json.dumps(rows)
    assert memory.log.table("nobody").height == 0
    assert User("c", "a", "r1") == memory.account().user


def test_the_sum_of_a_run_is_that_of_its_rows(memory: Any, tmp_path: Any) -> None:
    import polars as pl

    from graphrag_dagster.dbt_like_sql.loader import load_models
    from graphrag_dagster.kernel.storage.warehouse import Warehouse
    from graphrag_dagster.kernel.tables.usage_tables import MODEL_USAGE, RUN_USAGE

    for run in ("r1", "r2"):
        for place, asset in enumerate(("extraction", "reports"), start=1):
            sums = {name: place * (at + 1) for at, name in enumerate(USE_FIELDS)}
            memory.account(asset=asset, run=run).book("t", "m", ModelUse(**{**sums, "unpriced": 0}))
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    warehouse.write(MODEL_USAGE, "c", memory.log.table("c"))
    (model,) = (one for one in load_models() if one.table is RUN_USAGE)
    warehouse.write_all("c", {}, {model.table: model.query})
    rows, totals = warehouse.read(MODEL_USAGE, "c"), warehouse.read(RUN_USAGE, "c")
    assert totals.height == 2
    for total in totals.iter_rows(named=True):
        of_run = rows.filter(pl.col("run_id") == total["run_id"])
        for name in set(USE_FIELDS) - {"unpriced"}:
            assert total[name] == pytest.approx(of_run[name].sum()), name
