"""What a run has spent and may yet spend, agreed on by all processes that take part in it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphrag_dagster.kernel.models.cache.rounds import Rounds
from graphrag_dagster.kernel.models.model_costs import Amount, Budget, BudgetExhausted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphrag_dagster.kernel.models.cache.cache_database import Database

#: Seconds until it is looked again whether calls of other processes have left room: more each time.
_SOON, _LATE = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class _Answer:
    """Whether there was room for a call, and what was spent and in flight before it."""

    granted: bool
    spent: Amount
    in_flight: int


class RunSpending:
    """Reserves what calls of a run may cost at worst, so that its limits hold in all its processes.

    Args:
        database: that they share.
        corpus: of the run.
        run_id: its id.
        budget: its limits.
    """

    def __init__(self, database: Database, corpus: str, run_id: str, budget: Budget) -> None:
        self.budget = budget
        self._database = database
        self._run = (corpus, run_id)
        self._in_flight = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._rounds = Rounds(database, self._ask, self._on_answer, self._undo)

    async def reserve(self, worst: Amount) -> None:
        """Reserve what a call may cost at worst; where it does not fit, wait for calls in flight to settle.

        Raises:
            BudgetExhausted: it does not fit although nothing is in flight.
        """
        pause = _SOON
        while not (answer := await self._rounds.ask(worst)).granted:
            if not answer.in_flight:
                raise BudgetExhausted(self.budget.exceeded_reason(answer.spent, worst))
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await asyncio.wait([turn], timeout=pause)
            pause = min(2 * pause, _LATE)

    def settle(self, connection: Any, worst: Amount) -> None:
        """Give back a reservation, in the transaction in which the call is booked."""
        connection.execute(
            "update reservations set calls = calls - 1, tokens = tokens - ?, "
            "usd = case when calls = 1 then 0 else usd - ? end "
            "where corpus = ? and run_id = ? and holder = ?",
            (worst.tokens, worst.usd, *self._run, self._database.holder),
        )

    def on_settled(self) -> None:
        """Wake who waits for room."""
        self._count(-1)
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def _count(self, change: int) -> None:
        self._in_flight += change
        holding = self._database.presence.holding
        (holding.add if self._in_flight else holding.discard)(self)

    def _on_answer(self, _: Sequence[Amount], answers: Sequence[_Answer]) -> None:
        self._count(sum(answer.granted for answer in answers))

    def _undo(self, worst: Amount, answer: _Answer) -> None:
        if answer.granted:
            self._database.write_soon(lambda connection: self.settle(connection, worst))
            self.on_settled()

    def _ask(self, calls: Sequence[Amount]) -> list[_Answer]:
        return self._database.write(lambda connection: self._reserve(connection, calls))

    def _reserve(self, connection: Any, calls: Sequence[Amount]) -> list[_Answer]:
        presence = self._database.presence
        presence.see(connection)
        spent = Amount(
            *connection.execute(
                "select coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(usd), 0.0) from usage "
                "where corpus = ? and run_id = ?",
                self._run,
            ).fetchone()
        )
        in_flight, tokens, usd = connection.execute(
            "select coalesce(sum(calls), 0), coalesce(sum(tokens), 0), coalesce(sum(usd), 0.0) "
            f"from reservations where corpus = ? and run_id = ? and holder in {presence.alive()}",
            self._run,
        ).fetchone()
        reserved, answers, granted = Amount(tokens, usd), list[_Answer](), Amount()
        for worst in calls:
            fits = self.budget.allows(spent + reserved + granted + worst)
            answers.append(_Answer(fits, spent, in_flight))
            if fits:
                granted += worst
                in_flight += 1
        if count := sum(answer.granted for answer in answers):
            connection.execute(
                "insert into reservations (corpus, run_id, holder, calls, tokens, usd) "
                "values (?, ?, ?, ?, ?, ?) on conflict (corpus, run_id, holder) do update set "
                "calls = reservations.calls + excluded.calls, "
                "tokens = reservations.tokens + excluded.tokens, usd = reservations.usd + excluded.usd",
                (*self._run, self._database.holder, count, granted.tokens, granted.usd),
            )
        return answers
