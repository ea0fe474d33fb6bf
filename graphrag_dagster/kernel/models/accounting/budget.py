"""A hard limit on tokens and money: the worst case is reserved before a call, and settled after it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphrag_dagster.errors import GraphragError

if TYPE_CHECKING:
    import asyncio


class BudgetExhausted(GraphragError):
    """The next call might pass the limit that was set. Nothing that was done is lost."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and US dollars."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.usd + other.usd)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.tokens - other.tokens, self.usd - other.usd)


@dataclass
class Budget:
    """The limit, the amount spent, and the possible cost of calls in flight; used on one event loop.

    Args:
        max_tokens: most tokens in and out; None does not limit.
        max_usd: most US dollars; None does not limit.
        spent: what was spent before.
    """

    max_tokens: int | None = None
    max_usd: float | None = None
    spent: Amount = field(default_factory=Amount)
    _reserved: Amount = field(default_factory=Amount)
    _in_flight: int = 0
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.max_tokens is not None or self.max_usd is not None

    async def reserve(self, worst: Amount) -> None:
        """Reserve what a call may cost at worst; where it does not fit, wait for calls in flight to settle.

        Raises:
            BudgetExhausted: it does not fit although nothing is in flight.
        """
        while not self._fits(worst):
            if not self._in_flight:
                raise BudgetExhausted(self._why(worst))
            import asyncio

            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self._reserved += worst
        self._in_flight += 1

    def settle(self, worst: Amount, used: Amount) -> None:
        """Replace a reservation by what the call did cost."""
        self._reserved -= worst
        self._in_flight -= 1
        self.spent += used
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)

    def _fits(self, worst: Amount) -> bool:
        after = self.spent + self._reserved + worst
        tokens = self.max_tokens is None or after.tokens <= self.max_tokens
        return tokens and (self.max_usd is None or after.usd <= self.max_usd + 1e-12)

    def _why(self, worst: Amount) -> str:
        limits = []
        if self.max_tokens is not None:
            limits.append(f"{self.spent.tokens:,} of {self.max_tokens:,} tokens")
        if self.max_usd is not None:
            limits.append(f"${self.spent.usd:.4f} of ${self.max_usd:.4f}")
        return (
            f"stopped before the limit: this run has spent {' and '.join(limits)}, and the next call may "
            f"need {worst.tokens:,} tokens. Paid replies are cached: run again, with the same or a "
            "higher limit, to continue"
        )
