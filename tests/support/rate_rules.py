"""Rate limits of a model endpoint: token buckets for requests and tokens, and the headers that tell them."""

import math
import threading
import time
from collections.abc import Callable

#: What a clock's rounding may amount to.
_NO_TIME = 1e-6


class Bucket:
    """Holds at most ``burst`` minutes' worth and fills at the rate of the limit.

    What is larger than the bucket gets through when the bucket is full, and leaves it in debt.
    """

    def __init__(self, per_minute: float, burst: float, now: float) -> None:
        self.limit = per_minute
        self.capacity = max(per_minute * burst, 1.0)
        self._level = self.capacity
        self._filled = now

    def fill(self, now: float) -> None:
        self._level = min(self.capacity, self._level + (now - self._filled) * self.limit / 60)
        self._filled = now

    def missing(self, amount: float) -> float:
        """Seconds until so much may be taken."""
        return max(min(amount, self.capacity) - self._level, 0.0) * 60 / self.limit

    def take(self, amount: float) -> None:
        self._level -= amount

    @property
    def remaining(self) -> int:
        return max(math.floor(self._level), 0)

    @property
    def reset(self) -> float:
        """Seconds until it is full."""
        return (self.capacity - self._level) * 60 / self.limit


class RateRules:
    """The limits of an endpoint; None is none.

    Args:
        requests_per_minute: requests let through.
        tokens_per_minute: tokens of prompts and replies let through.
        burst: how many minutes' worth may come at once.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        burst: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = {"requests": requests_per_minute, "tokens": tokens_per_minute}
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets = {what: Bucket(rate, burst, clock()) for what, rate in limits.items() if rate}

    def __bool__(self) -> bool:
        return bool(self._buckets)

    @property
    def counts_tokens(self) -> bool:
        return "tokens" in self._buckets

    def admit(self, tokens: int) -> tuple[float, dict[str, str]]:
        """Let a request through or not.

        Returns:
            0.0, or the seconds after which it would get through; and the headers that tell the limits.
        """
        with self._lock:
            now = self._clock()
            amounts = {"requests": 1, "tokens": tokens}
            for bucket in self._buckets.values():
                bucket.fill(now)
            wait = max((b.missing(amounts[what]) for what, b in self._buckets.items()), default=0.0)
            if wait < _NO_TIME:
                wait = 0.0
                for what, bucket in self._buckets.items():
                    bucket.take(amounts[what])
            return wait, self._headers()

    def _headers(self) -> dict[str, str]:
        return {
            f"x-ratelimit-{name}-{what}": value
            for what, bucket in self._buckets.items()
            for name, value in (
                ("limit", f"{bucket.limit:.0f}"),
                ("remaining", str(bucket.remaining)),
                ("reset", duration(bucket.reset)),
            )
        }


def duration(seconds: float) -> str:
    """Seconds as such headers write them: ``120ms``, ``6s``, ``1m3.5s``, ``2h0m0s``."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000 - 1e-9)}ms" if seconds > 0 else "0s"
    rounded = math.ceil(seconds * 1000 - 1e-6) / 1000
    minutes, rest = divmod(rounded, 60)
    hours, minutes = divmod(int(minutes), 60)
    shown = f"{round(rest, 3):g}s"
    if hours:
        return f"{hours}h{minutes}m{shown}"
    return f"{minutes}m{shown}" if minutes else shown
