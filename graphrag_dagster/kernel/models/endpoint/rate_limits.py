"""Limits of concurrent calls and their rate: an adaptive window, and rates of requests and tokens.

The window opens by one call a round of answers and halves when the endpoint says that there are too many
(429) or answers none in time; up to the place of the last halving it opens faster. Rates are buckets that
refill steadily and hold a second's worth, so that no minute sees more than it may.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

#: Seconds that an endpoint may ask to wait; what asks for more has no more to give, and waiting hides that.
LONGEST_WAIT = 600.0
#: What is asked for beyond it means "for long", however large the number: a year.
_FOR_EVER = 365 * 86_400.0
#: Seconds' worth of a rate that may be sent at once.
_BURST = 1.0
_NEAR = 0.9


@dataclass(slots=True)
class Ticket:
    """A call in flight: what it reserved, and when it began."""

    tokens: int
    begun: float


class Bucket:
    """A rate: ``per_minute`` units; None does not limit. ``clock`` gives seconds."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self.per_minute = per_minute
        self.level = self._capacity()
        self._clock = clock
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Return the seconds until ``amount`` can be taken; more than a bucket holds waits for a full one."""
        if self.per_minute is None:
            return 0.0
        self._refill()
        short = min(amount, self._capacity()) - self.level
        return max(short * 60.0 / self.per_minute, 0.0)

    def take(self, amount: float) -> None:
        """Take ``amount``; a negative one gives back."""
        self._refill()
        self.level = min(self.level - amount, self._capacity())

    def _capacity(self) -> float:
        return max((self.per_minute or 0.0) / 60.0 * _BURST, 1.0)

    def _refill(self) -> None:
        now = self._clock()
        self.level = min(self.level + (now - self._at) * (self.per_minute or 0.0) / 60.0, self._capacity())
        self._at = now


class Limits:
    """The limits of one model behind one endpoint, shared by all that call it.

    Used on one event loop. Callers enter in the order in which they come, one that comes back after a
    failure before all others.

    Args:
        concurrency: most calls in flight.
        requests: a minute; None does not limit.
        tokens: a minute; None does not limit.
        clock: seconds, as the clock of the loop counts them.
    """

    def __init__(
        self,
        concurrency: int,
        requests: int | None = None,
        tokens: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._most = concurrency
        self._window = float(concurrency)
        self._last_cut = float(concurrency)
        self._cut_at = 0.0
        self.requests, self.tokens = Bucket(requests, clock), Bucket(tokens, clock)
        self.in_flight = 0
        self._not_before = 0.0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def window(self) -> int:
        """Most calls in flight now."""
        return max(int(self._window), 1)

    async def enter(self, tokens: int, *, first: bool = False) -> Ticket:
        """Wait for a place in the window and in the rates, and take them; ``tokens`` is an estimate."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft((place, tokens))
        else:
            self._waiting.append((place, tokens))
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave(Ticket(tokens, self._clock()), used=0)
            raise
        return Ticket(tokens, self._clock())

    def leave(self, ticket: Ticket, used: int | None) -> None:
        """Give the place back, and settle the tokens: ``used`` of them, None where that is not known."""
        self.in_flight -= 1
        if used is not None:
            self.tokens.take(used - ticket.tokens)
        self._admit()

    def on_answer(self) -> None:
        """Open the window a little: a call was answered."""
        if self._window < self._most:
            step = 1.0 if self._window < _NEAR * self._last_cut else 1.0 / self._window
            self._window = min(self._window + step, float(self._most))

    def on_overload(self, ticket: Ticket) -> None:
        """Halve the window, once for all calls that were in flight together: fewer are answered sooner."""
        if ticket.begun >= self._cut_at:
            self._last_cut = self._window
            self._window = max(self._window / 2, 1.0)
            self._cut_at = self._clock()

    def pause(self, seconds: float) -> None:
        """Begin no call for so long."""
        self._not_before = max(self._not_before, self._clock() + seconds)

    def _admit(self) -> None:
        while self._waiting:
            place, tokens = self._waiting[0]
            if place.done():
                self._waiting.popleft()
                continue
            if self.in_flight >= self.window:
                return
            wait = max(self._not_before - self._clock(), self.requests.wait(1), self.tokens.wait(tokens), 0.0)
            if wait > 0:
                self._wake_in(wait)
                return
            self._waiting.popleft()
            self.requests.take(1)
            self.tokens.take(tokens)
            self.in_flight += 1
            place.set_result(None)

    def _wake_in(self, seconds: float) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._admit)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, by ``Retry-After-Ms`` or ``Retry-After``.

    At most a year; None where it asks for nothing that can be understood.
    """
    milliseconds, value = headers.get("retry-after-ms"), headers.get("retry-after", "")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), _FOR_EVER)
