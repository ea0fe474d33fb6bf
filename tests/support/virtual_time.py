"""Coroutines on a clock that jumps: whoever waits waits for nothing, and how long is exact."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumps(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0 if timeout else timeout)
        # Time never stands still: what woke up a rounding error too early would wake up so for ever.
        if not ready and timeout is not None:
            self.now += max(timeout, 1e-9)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumps = _Jumps()
        super().__init__(self._jumps)

    def time(self) -> float:
        return self._jumps.now


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing but the clock of its loop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(coroutine)
