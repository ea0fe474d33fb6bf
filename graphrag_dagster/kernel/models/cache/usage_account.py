"""Account of one asset in one run: its model requests are counted, priced and kept within limits."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, ChatReply
from graphrag_dagster.kernel.models.model_costs import (
    USE_FIELDS,
    Budget,
    BudgetExhausted,
    ModelUse,
    Price,
    listed_price,
)
from graphrag_dagster.kernel.tables.usage_tables import MODEL_USAGE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    import polars as pl

    from graphrag_dagster.kernel.models.cache.cache_database import Database
    from graphrag_dagster.kernel.models.cache.llm_cache import Replies, User
    from graphrag_dagster.kernel.models.endpoint.endpoint_connection import Tries
    from graphrag_dagster.kernel.settings.model_settings import ModelSettings


#: Seconds until it is looked again whether calls in flight have left room: more each time.
_SOON, _LATE = 0.02, 1.0
_KEY = ("run_id", "corpus", "asset", "task", "model")
_SUMS = ", ".join(f"{name} = usage.{name} + excluded.{name}" for name in USE_FIELDS)
_NAMES = ", ".join((*_KEY, "begun", *USE_FIELDS))
_MARKS = ", ".join("?" * (len(_KEY) + 1 + len(USE_FIELDS)))
_INSERT = (
    f"insert into usage ({_NAMES}) values ({_MARKS}) "
    f"on conflict (corpus, run_id, asset, task, model) do update set {_SUMS}"
)


class UsageLog:
    """The accounts in one LLM cache."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, user: User, task: str, model: str, use: ModelUse) -> None:
        """Add what a call took to the account of its run, asset, task and model."""
        values = [getattr(use, name) for name in USE_FIELDS]
        row = (user.run_id, user.corpus, user.asset, task, model, time.time(), *values)
        self._database.write_soon(lambda connection: connection.execute(_INSERT, row))

    def of_run(self, corpus: str, run_id: str) -> ModelUse:
        """Return what a run has used so far."""
        return sum(self.by_task(corpus, run_id).values(), ModelUse())

    def by_task(self, corpus: str, run_id: str) -> dict[tuple[str, str, str], ModelUse]:
        """Return what a run has used by asset, task and model."""
        query = (
            f"select asset, task, model, {', '.join(USE_FIELDS)} from usage "
            "where corpus = ? and run_id = ? order by begun, asset, task, model"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (corpus, run_id)).fetchall()
        return {(row[0], row[1], row[2]): ModelUse(*row[3:]) for row in rows}

    def written(self, task: str, model: str) -> tuple[int, int]:
        """Return the calls of a task to a model in all accounts, and the tokens of their replies."""
        query = "select sum(calls), sum(output_tokens) from usage where task = ? and model = ?"
        with self._database.reading() as connection:
            calls, tokens = connection.execute(query, (task, model)).fetchone()
        return calls or 0, tokens or 0

    def table(self, corpus: str) -> pl.DataFrame:
        """Return all accounts of a corpus as rows of ``usage.model_usage``."""
        names = ("run_id", "asset", "task", "model", "begun", *USE_FIELDS)
        query = f"select {', '.join(names)} from usage where corpus = ?"
        with self._database.reading() as connection:
            rows = connection.execute(query, (corpus,)).fetchall()
        return MODEL_USAGE.frame([_row(dict(zip(names, row, strict=True))) for row in rows])


def _row(kept: dict[str, Any]) -> dict[str, Any]:
    begun = datetime.fromtimestamp(kept["begun"], UTC).isoformat(timespec="milliseconds")
    usd = None if kept.pop("unpriced") else round(kept["usd"], 9)
    return {**kept, "begun": begun, "usd": usd, "seconds": round(kept["seconds"], 6)}


class UsageAccount:
    """Records the calls of an asset, and keeps to the limits of its run.

    The limits hold for all assets of a process. What other processes of the run have spent counts, too. What
    they have in flight does not: together they may pass a limit by that much.

    Args:
        user: asset, corpus and run.
        replies: the LLM cache.
        log: the accounts of all runs.
        budget: the limits of the run.
    """

    def __init__(self, user: User, replies: Replies, log: UsageLog, budget: Budget) -> None:
        self.user = user
        self.replies = replies
        self.log = log
        self.budget = budget
        self._database = replies.database
        self._run = (user.corpus, user.run_id)
        self._in_flight = self._database.in_flight[self._run]
        self._begun = time.time()

    def book(self, task: str, model: str, use: ModelUse) -> None:
        """Add a call to the account."""
        self.log.add(self.user, task, model, use)

    def use_again(self, keys: Sequence[bytes]) -> None:
        """Book replies that were read before, and whose results are taken over, as read again."""
        self.replies.touch(keys, self.user)
        for (task, model), use in self.replies.tasks(keys).items():
            self.book(task, model, use)

    async def reserve(self, worst: ModelUse) -> None:
        """Reserve what a call may cost at worst; where it does not fit, wait for calls in flight to settle.

        Raises:
            BudgetExhausted: it does not fit although nothing is in flight.
        """
        if not self.budget.limited:
            return
        pause = _SOON
        while True:
            async with self._database.reserving[self._run]:
                calls = list(self._in_flight)
                # A call that is settled meanwhile counts as in flight: it may be missing from what is read.
                spent = await self._database.ask(self._spent)
                if self.budget.allows(sum(calls, spent) + worst):
                    self._in_flight.append(worst)
                    return
            if not calls:
                raise BudgetExhausted(self.budget.exceeded_reason(spent, worst))
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LATE)

    def release(self, worst: ModelUse) -> None:
        """Give back a reservation, once the call is booked."""
        if self.budget.limited:
            self._in_flight.remove(worst)

    def _spent(self) -> ModelUse:
        query = (
            "select coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(usd), 0.0) "
            "from usage where corpus = ? and run_id = ?"
        )
        with self._database.reading() as connection:
            tokens, usd = connection.execute(query, self._run).fetchone()
        return ModelUse(input_tokens=tokens, usd=usd)

    def finish(self) -> ModelUse:
        """Note that the asset is made, and return what it used in this run.

        An asset that has used nothing, but did in an earlier run, is noted too: else what it no longer needs,
        perhaps of documents that are gone, would count as used for ever.
        """
        booked = self.log.by_task(*self._run)
        used = [use for (asset, *_), use in booked.items() if asset == self.user.asset]
        if used or self.replies.used_by(self.user):
            self.replies.finish(self.user, self._begun)
        return sum(used, ModelUse())


class CostMeter:
    """Prices of one model, and limits on what its calls may cost.

    Args:
        account: where calls are booked.
        settings: the model.
        model: its name.
        url: its endpoint.
        discount: factor on the price.

    Raises:
        SettingsError: money is limited and the model has no known price.
    """

    def __init__(
        self, account: UsageAccount, settings: ModelSettings, model: str, url: str, discount: float = 1.0
    ) -> None:
        self._account = account
        self._model = model
        price = price_of(settings, model, url)
        self._price = price.times(discount) if price else None
        if account.budget.max_usd is not None and self._price is None:
            raise SettingsError(
                f"the price of {model} is not known, so a limit on money cannot be enforced: set "
                "model.prices in corpus.yaml, or limit tokens instead"
            )

    @asynccontextmanager
    async def paying(
        self, input_tokens: int, output_tokens: int, tries: Tries
    ) -> AsyncIterator[list[ModelUse]]:
        """Reserve what a call may cost, and book what it has cost, however it ends.

        Args:
            input_tokens: at most.
            output_tokens: at most.
            tries: kept up while the call goes on.

        Yields:
            A list that takes the use of the call, once it is answered.
        """
        worst = await self.reserve(input_tokens, output_tokens)
        used: list[ModelUse] = []
        try:
            yield used
        except BaseException as error:
            used.append(usage_of_lost_call(tries, error))
            raise
        finally:
            self.settle(worst, tries.task, sum(used, ModelUse()))

    async def reserve(self, input_tokens: int, output_tokens: int) -> ModelUse:
        """Reserve what a call may cost at most; see :meth:`.UsageAccount.reserve`."""
        worst = self._priced(ModelUse(input_tokens=input_tokens, output_tokens=output_tokens))
        await self._account.reserve(worst)
        return worst

    def settle(self, worst: ModelUse, task: str, use: ModelUse) -> None:
        """Book a call, and give back what it did not need; its money is filled in here."""
        self._account.book(task, self._model, self._priced(use))
        self._account.release(worst)

    def _priced(self, use: ModelUse) -> ModelUse:
        if self._price is None:
            return use + ModelUse(unpriced=use.calls)
        return use + ModelUse(
            usd=self._price.of(use.input_tokens, use.output_tokens, use.cached_input_tokens)
        )


def price_of(settings: ModelSettings, model: str, url: str) -> Price | None:
    """Return the price of a model: that of the settings, else that of the price list, else None."""
    if own := settings.prices:
        cached = own.input if own.cached_input is None else own.cached_input
        return Price(own.input, own.output, cached)
    return listed_price(model, url)


def use_of(reply: ChatReply, tries: Tries, *, repeated: bool = False) -> ModelUse:
    """Return the use of one answered call, without its money."""
    return _waiting(tries) + ModelUse(
        calls=1,
        repeated=int(repeated),
        input_tokens=reply.input_tokens,
        cached_input_tokens=reply.cached_input_tokens,
        output_tokens=reply.output_tokens,
    )


def usage_of_lost_call(tries: Tries, error: BaseException) -> ModelUse:
    """Return the use of a call that got no answer; one that was given up before it was sent used nothing.

    What was given up on its way is paid for all the same, as far as it went: by estimate.
    """
    failed = int(tries.sent > 0 or isinstance(error, CallFailed))
    read, written = (tries.read, tries.written) if tries.sent and tries.read else (0, 0)
    return _waiting(tries) + ModelUse(failed=failed, input_tokens=read, output_tokens=written)


def _waiting(tries: Tries) -> ModelUse:
    return ModelUse(retries=tries.retries, timeouts=tries.timeouts, seconds=tries.seconds)
