"""Progress of the stages and of the calls they wait for: bars in a terminal, lines elsewhere."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from graphrag_dagster.cli.console import ERR
from graphrag_dagster.kernel.common.progress import Listener, current_calls, listening

#: Seconds until a call that is waited for is named; seconds between two lines, or this share of all so far.
_PATIENT, _BETWEEN, _SHARE = 2.0, 10.0, 0.1
_LOOKS = 0.25
#: Seconds whose speed tells the time left: replies come in bursts.
_PERIOD = 60.0


class ShownProgress(Listener):
    """What is shown of the stages under way; used as a context manager.

    Args:
        console: where. A terminal has a bar for each stage, anything else a line for each that ends, and
            every few seconds one for each under way.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bars = _Bars(
            TextColumn("{task.description:<42}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            speed_estimate_period=_PERIOD,
            disable=not console.is_terminal,
        )
        self._running: dict[str, TaskID] = {}
        self._ended = threading.Event()
        self._begun = time.monotonic()
        self._next = self._begun + _BETWEEN
        self._waits = False

    def __enter__(self) -> Self:
        self._bars.start()
        if self._bars.disable:
            threading.Thread(target=self._watch, name="progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, stage: str, total: int | None) -> None:
        """Add a stage."""
        self._running[stage] = self._bars.add_task(stage, total=total)

    def advance(self, stage: str, steps: int) -> None:
        """Count steps."""
        if stage in self._running:
            self._bars.advance(self._running[stage], steps)

    def finish(self, stage: str) -> None:
        """Leave the bar as it stands, or print how much was done."""
        if (number := self._running.pop(stage, None)) is None:
            return
        self._bars.stop_task(number)
        ended = next(one for one in self._bars.tasks if one.id == number)
        if self._bars.disable and ended.total != 0:
            self._print(f"{stage}: {_count(ended)} in {span(ended.elapsed or 0.0)}")

    def say(self, line: str) -> None:
        """Print a line at once."""
        self.console.print(escape(line), style="yellow", soft_wrap=True)

    def stop(self) -> None:
        """Show nothing more; bars stay as they stand."""
        self._ended.set()
        if not self._bars.disable:
            self._bars.stop()

    def look(self) -> None:
        """Print how far the stages are, and what is waited for, where it is time to; called often."""
        now, line = time.monotonic(), pending_summary(self._bars.running())
        if line and not self._waits:
            self._next = now
        self._waits = line is not None
        if now < self._next:
            return
        # What takes long is shown more rarely: a night of it is a hundred lines.
        self._next = now + max(_BETWEEN, _SHARE * (now - self._begun))
        if line:
            self._print(line)
            return
        for task in self._bars.running():
            left = task.time_remaining
            text = "" if left is None else f", about {span(left)} left"
            self._print(f"{task.description}: {_count(task)} after {span(task.elapsed or 0.0)}{text}")

    def _watch(self) -> None:
        while not self._ended.wait(_LOOKS):
            self.look()

    def _print(self, line: str) -> None:
        self.console.print(escape(line), soft_wrap=True)


class _Bars(Progress):
    """Bars, with a line below them on what is waited for."""

    def running(self) -> list[Task]:
        return [one for one in self.tasks if one.stop_time is None]

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if line := pending_summary(self.running()):
            yield Text(line, style="dim")


def pending_summary(running: Iterable[Task] = ()) -> str | None:
    """Return what is waited for where that takes long; None where nothing is.

    Args:
        running: the stages under way; the first whose steps are counted is what the call is for.
    """
    calls = current_calls()
    if calls.oldest is None or (waits := time.monotonic() - calls.oldest.begun) < _PATIENT:
        return None
    stage = next((one for one in running if one.total), None)
    what = calls.oldest.task.replace("_", " ")
    if stage and what and calls.oldest.task != "probe":
        what = f"{stage.description.lower()} ({_count(stage)})"
    queue = f", {calls.waiting:,} not yet sent" if calls.waiting else ""
    return (
        f"waiting for {calls.oldest.whom}{': ' if what else ''}{what}; {calls.done:,} calls answered, "
        f"{calls.in_flight:,} under way{queue}, the oldest for {span(waits)}"
    )


def _count(task: Task) -> str:
    done = f"{task.completed:,.0f}"
    return done if task.total is None else f"{done} of {task.total:,.0f}"


def span(seconds: float) -> str:
    """Render a time roughly."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@contextmanager
def watching() -> Iterator[ShownProgress]:
    """Show on standard error how far the stages of the block are."""
    with ShownProgress(ERR) as shown, listening(shown):
        yield shown
