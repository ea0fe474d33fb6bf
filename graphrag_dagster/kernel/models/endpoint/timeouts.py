"""Timeouts of calls in flight: none ends a call while the endpoint works on others.

A server that takes one call after the other lets those that wait in its queue hear nothing. So the time of a
call counts from the last sign of life that the endpoint gave to any call, up to as many limits as there were
calls in flight. An answer that comes piece by piece may take as long as pieces come.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from graphrag_dagster.kernel.common.progress import PendingCall, say

#: Reading a token takes this share of the time that writing one takes, or less.
_READING = 1 / 16
#: A limit is so many times what is expected.
_GENEROUS = 3.0
_LONGEST = 3600.0
#: A smaller answer that came quickly tells how long the way is, not how fast the model is.
_MIN_TIMED_WORK, _SLOW = 40.0, 2.0
#: Tokens of a small answer that tell enough of a model to watch its first long reply, and no more.
_HINTING = 5
_FORGETTING = 0.1
#: Seconds of a reply above which it is read as it comes.
_WATCHED = 10.0


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of a call: of its prompt, by estimate, and of its longest reply."""

    prompt: int = 0
    reply: int = 0

    @property
    def work(self) -> float:
        """The same in written tokens, of which reading costs a share."""
        return max(self.reply + self.prompt * _READING, 1.0)


class Pace:
    """Seconds that a model takes for a token, queueing at the endpoint included; None while nothing is known.

    A slow answer is believed at once, a quick one little by little: a limit that is too long costs little.
    """

    def __init__(self, seconds_per_token: float | None = None) -> None:
        self.seconds_per_token = seconds_per_token
        self._hint = 0.0

    def on_answer(self, size: Size, seconds: float) -> None:
        """Learn from an answer; ``size`` is what it had in fact."""
        if size.work < _MIN_TIMED_WORK and seconds < _SLOW:
            if size.reply >= _HINTING:
                self._hint = seconds / size.work
            return
        seen, known = seconds / size.work, self.seconds_per_token or 0.0
        self.seconds_per_token = max(seen, known + _FORGETTING * (seen - known))

    def on_timeout(self, size: Size, seconds: float) -> None:
        """Learn from a call that got no answer within its limit: the next of its size has twice as long."""
        least = 2.0 * seconds / (_GENEROUS * size.work)
        self.seconds_per_token = max(self.seconds_per_token or 0.0, least)

    def expected_tokens(self, size: Size, seconds: float) -> int:
        """Return the tokens of a reply that are written after so many seconds, by estimate."""
        if self.seconds_per_token is None:
            return 0
        worked = seconds / self.seconds_per_token - size.prompt * _READING
        return min(max(round(worked), 0), size.reply)

    def is_watched(self, size: Size) -> bool:
        """Return whether a reply is worth reading as it comes: it is likely to take more than ten seconds.

        One that repeats itself can then be ended.
        """
        return (self.seconds_per_token or self._hint) * size.work > _WATCHED

    def limit(self, size: Size, least: float) -> float:
        """Return the seconds that a call may take, from ``least`` to the longer of it and an hour."""
        expected = (self.seconds_per_token or 0.0) * size.work
        return max(least, min(_GENEROUS * expected, _LONGEST))


#: By URL and model, for as long as the process lives.
_known: dict[tuple[str, str], Pace] = {}


def pace_of(url: str, model: str) -> Pace:
    """Return what is known of a model behind an endpoint."""
    return _known.setdefault((url, model), Pace())


#: How often a call that was not answered in time is sent again, with twice the time or more.
_LONGER = 1
#: Tokens within whose time the next piece of an answer is to come.
_PIECE = Size(reply=20)
#: Seconds within which the same is not said of another call.
_ONCE = 60.0
#: Seconds after which an answer that still comes piece by piece is given up.
LONGEST_STREAM = 7200.0
#: How often, in limits, a sign of life is passed on to the other calls.
_GRAIN = 0.02


class Waited:
    """A call and its time limit; no limit is tried twice.

    Args:
        call: whom is asked, and for what.
        size: tokens of the prompt and of the longest reply.
        pace: how fast the model is.
        least: seconds that the settings grant.
    """

    def __init__(self, call: PendingCall, size: Size, pace: Pace, least: float) -> None:
        self.call = call
        self._size = size
        self._pace = pace
        self._least = least
        self._granted = 0.0
        self._idle = 0.0
        self._told: list[str] = []

    @property
    def idle(self) -> float:
        """Seconds that the next try has between two pieces of its answer."""
        return max(2 * self._idle, self._pace.limit(_PIECE, self._least))

    @property
    def limit(self) -> float:
        """Seconds that the next try has before a piece of its answer comes."""
        return max(2 * self._granted, self._pace.limit(self._size, self._least))

    def record_timeout(self, clock: "Clock") -> None:
        """Take note that the time of a try is over."""
        if clock.flows:
            self._idle = clock.idle
            self._told.append(f"for {seconds_of(clock.idle)} in the middle of its reply")
        else:
            self._granted = clock.granted
            self._told.append(f"within {seconds_of(clock.granted)}")
            self._pace.on_timeout(self._size, clock.granted)

    @property
    def longer(self) -> bool:
        """Whether there is to be another try, with more time."""
        return len(self._told) <= _LONGER

    @property
    def limits(self) -> str:
        """The limits that have passed."""
        return ", nor ".join(self._told)

    def describe(self, *, again: bool) -> str:
        """The message for a limit that has passed."""
        prompt = f", about {self._size.prompt:,} prompt tokens" if self._size.prompt else ""
        told = f"{self.call.whom} did not answer {self.limits} ({self.call.description}{prompt}); "
        if again:
            more = f"{seconds_of(self.idle)} between two pieces" if self._idle else seconds_of(self.limit)
            return (
                f"{told}trying once more, with {more}. model.timeout_seconds in corpus.yaml sets the "
                "shortest limit"
            )
        return f"{told}giving up. If it is only slow, set model.timeout_seconds in corpus.yaml higher"


def seconds_of(seconds: float) -> str:
    """Render a time limit."""
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


class Clock:
    """The time of one call.

    Args:
        ends: ends the call when it is over.
        limit: seconds that it has.
        idle: seconds between two pieces of its answer.
        latest: seconds after which it ends although the endpoint answers others.
    """

    def __init__(self, ends: asyncio.Timeout, limit: float, idle: float, latest: float) -> None:
        self._ends = ends
        self.idle = idle
        self._begun = asyncio.get_running_loop().time()
        self._latest = self._begun + latest
        self.limit = limit
        self.flows = False
        self._heard_at = self._begun

    @property
    def granted(self) -> float:
        """Seconds that it has by now."""
        return (self._ends.when() or self._begun) - self._begun

    def on_data(self) -> None:
        """A piece of its answer has come; to set the clock anew takes longer than to read one."""
        now = asyncio.get_running_loop().time()
        if self.flows and now - self._heard_at < _GRAIN * self.idle:
            return
        self.flows, self._heard_at = True, now
        self._extend(self.idle, self._begun + LONGEST_STREAM)

    def on_other_data(self) -> None:
        """Another call has heard from the endpoint."""
        if not self.flows:
            self._extend(self.limit, self._latest)

    def _extend(self, seconds: float, latest: float) -> None:
        if not self._ends.expired():
            now = asyncio.get_running_loop().time()
            self._ends.reschedule(min(now + seconds, latest))


class CallTimeouts:
    """The clocks of the calls of one model; used on one event loop."""

    def __init__(self) -> None:
        self._clocks: set[Clock] = set()
        self._passed_on = 0.0
        self._said: dict[tuple[str, bool], float] = {}

    @asynccontextmanager
    async def clock(self, waited: Waited, in_flight: int) -> AsyncIterator[Clock]:
        """Give a call its time.

        Args:
            waited: the call.
            in_flight: calls that the endpoint may answer before it.

        Raises:
            TimeoutError: it is over.
        """
        limit = waited.limit
        async with asyncio.timeout(limit) as ends:
            clock = Clock(ends, limit, waited.idle, limit * max(in_flight, 1))
            self._clocks.add(clock)
            try:
                yield clock
            finally:
                self._clocks.discard(clock)
                if ends.expired():
                    waited.record_timeout(clock)

    def report(self, waited: Waited, *, again: bool) -> None:
        """Say that a limit has passed, once for calls that were in flight together."""
        now, kind = time.monotonic(), (waited.limits, again)
        if now - self._said.get(kind, -_ONCE) >= _ONCE:
            self._said[kind] = now
            say(waited.describe(again=again))

    def on_data(self, clock: Clock) -> None:
        """A call has heard from the endpoint: it works."""
        clock.on_data()
        now = time.monotonic()
        if now - self._passed_on >= _GRAIN * clock.limit:
            self._passed_on = now
            for other in self._clocks - {clock}:
                other.on_other_data()
