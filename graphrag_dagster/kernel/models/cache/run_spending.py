"""What a run has spent and may yet spend: exact within one process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from graphrag_dagster.kernel.models.model_costs import Amount, Budget, BudgetExhausted

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.cache.cache_database import Database

#: Seconds until it is looked again whether calls in flight have left room: more each time.
_SOON, _LATE = 0.02, 1.0


class RunSpending:
    """Reserves what calls of a run may cost at worst, so that its limits hold for all assets of a process.

    What other processes of the run have spent counts, too. What they have in flight does not: together they
    may pass a limit by that much.

    Args:
        database: with the accounts.
        corpus: of the run.
        run_id: its id.
        budget: its limits.
    """

    def __init__(self, database: Database, corpus: str, run_id: str, budget: Budget) -> None:
        self.budget = budget
        self._database = database
        self._run = (corpus, run_id)
        self._in_flight = database.in_flight[self._run]

    async def reserve(self, worst: Amount) -> None:
        """Reserve what a call may cost at worst; where it does not fit, wait for calls in flight to settle.

        Raises:
            BudgetExhausted: it does not fit although nothing is in flight.
        """
        if not self.budget.limited:
            return
        pause = _SOON
        while True:
            async with self._database.reserving:
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

    def settle(self, worst: Amount) -> None:
        """Give back a reservation, once the call is booked."""
        if self.budget.limited:
            self._in_flight.remove(worst)

    def _spent(self) -> Amount:
        query = (
            "select coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(usd), 0.0) "
            "from usage where corpus = ? and run_id = ?"
        )
        with self._database.reading() as connection:
            return Amount(*connection.execute(query, self._run).fetchone())
