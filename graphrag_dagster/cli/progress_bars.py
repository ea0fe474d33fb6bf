"""Progress of the stages and of the calls they wait for: bars in a terminal, lines elsewhere."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from graphrag_dagster.cli.console import ERR
from graphrag_dagster.kernel.common.progress import Listener, current_calls, listening

#: Seconds after which it is told what is waited for, and between two lines; or this share of the time so far.
_PATIENT, _BETWEEN, _SHARE = 2.0, 10.0, 0.1
_LOOKS = 0.25
#: The time left is told once so many steps, and this share of them, are done, and only while they go on at a
#: steady speed: cached replies come at once, and what follows them does not.
_ENOUGH_STEPS, _ENOUGH_SHARE, _STEADY, _TENTH_MORE = 8, 0.1, 1.5, 1.1


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.1f}/s" if speed else "", style="dim")


@dataclass
class _Stage:
    total: int | None
    done: int = 0
    begun: float = field(default_factory=time.monotonic)
    #: When how much was done, at steps of a tenth more.
    marks: list[tuple[float, int]] = field(default_factory=list)

    @property
    def count(self) -> str:
        return f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def advance(self, steps: int) -> None:
        self.done += steps
        if not self.marks or self.done >= _TENTH_MORE * self.marks[-1][1]:
            self.marks.append((time.monotonic(), self.done))

    @property
    def seconds_left(self) -> float | None:
        """None before a tenth is done, and where the later half took another time a step than the whole."""
        if not self.total or self.done < max(_ENOUGH_STEPS, _ENOUGH_SHARE * self.total):
            return None
        at, before = next(
            ((at, done) for at, done in reversed(self.marks) if 2 * done <= self.done), (0.0, 0)
        )
        late, whole = (time.monotonic() - at) / (self.done - before), self.seconds / self.done
        if not before or not whole / _STEADY <= late <= whole * _STEADY:
            return None
        return late * (self.total - self.done)

    @property
    def left(self) -> str:
        seconds = self.seconds_left
        return "" if seconds is None else f", about {span(seconds)} left"


class ShownProgress(Listener):
    """What is shown of the stages under way; used as a context manager."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._stages: dict[str, _Stage] = {}
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="progress", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, stage: str, total: int | None) -> None:
        """Take note of a stage."""
        self._stages[stage] = _Stage(total)

    def advance(self, stage: str, steps: int) -> None:
        """Take note of steps."""
        if stage in self._stages:
            self._stages[stage].advance(steps)

    def finish(self, stage: str) -> None:
        """Take note of the end of a stage."""
        self._stages.pop(stage, None)

    def say(self, line: str) -> None:
        """Print a line at once."""
        self.console.print(escape(line), style="yellow", soft_wrap=True)

    def stop(self) -> None:
        """Show nothing more."""
        self._ended.set()

    def look(self) -> None:
        """Show what is to be shown by now; called often."""

    def pending_summary(self) -> str | None:
        """What is waited for where that takes long; None where nothing is."""
        calls = current_calls()
        if calls.oldest is None or (waits := time.monotonic() - calls.oldest.begun) < _PATIENT:
            return None
        running = next(((name, stage) for name, stage in self._stages.items() if stage.total), None)
        what = calls.oldest.task.replace("_", " ")
        if running and what and calls.oldest.task != "probe":
            what = f"{running[0].lower()} ({running[1].count})"
        queue = f", {calls.waiting:,} not yet sent" if calls.waiting else ""
        return (
            f"waiting for {calls.oldest.whom}{': ' if what else ''}{what}; {calls.done:,} calls answered, "
            f"{calls.in_flight:,} under way{queue}, the oldest for {span(waits)}"
        )

    def _watch(self) -> None:
        while not self._ended.wait(_LOOKS):
            self.look()


class _TimeLeft(ProgressColumn):
    """The time left of a stage, blank where nothing tells."""

    def __init__(self, stages: Mapping[str, _Stage]) -> None:
        self._stages = stages
        super().__init__()

    def render(self, task: Task) -> Text:
        stage = None if task.finished else self._stages.get(task.description)
        seconds = stage.seconds_left if stage else None
        return Text("" if seconds is None else f"about {span(seconds)} left", style="progress.remaining")


class _Bars(Progress):
    """Bars with a line below them."""

    def __init__(self, *columns: ProgressColumn, below: Callable[[], str | None], console: Console) -> None:
        self._below = below
        super().__init__(*columns, console=console)

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if line := self._below():
            yield Text(line, style="dim")


class ProgressBars(ShownProgress):
    """One bar per running stage, with rate and time left."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._progress = _Bars(
            TextColumn("{task.description:<42}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            _Rate(),
            TimeElapsedColumn(),
            _TimeLeft(self._stages),
            below=self.pending_summary,
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._shown = False

    def start(self, stage: str, total: int | None) -> None:
        """Add a bar; the first one opens the display."""
        super().start(stage, total)
        self._show()
        self._tasks[stage] = self._progress.add_task(stage, total=total)

    def advance(self, stage: str, steps: int) -> None:
        """Move a bar."""
        super().advance(stage, steps)
        if stage in self._tasks:
            self._progress.advance(self._tasks[stage], steps)

    def finish(self, stage: str) -> None:
        """Leave the bar as it stands."""
        super().finish(stage)
        if (task := self._tasks.pop(stage, None)) is not None:
            self._progress.stop_task(task)

    def stop(self) -> None:
        """Leave the bars as they stand."""
        super().stop()
        if self._shown:
            self._shown = False
            self._progress.stop()

    def look(self) -> None:
        """Open the display where a call takes long and no stage has done so."""
        if not self._shown and self.pending_summary():
            self._show()

    def _show(self) -> None:
        if not self._ended.is_set():
            self._shown = True
            self._progress.start()


class ProgressLines(ShownProgress):
    """A line for every stage that ends, and every few seconds one for what is under way."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._begun = time.monotonic()
        self._next = self._begun + _BETWEEN
        self._waits = False

    def finish(self, stage: str) -> None:
        """Print how much was done."""
        if (ended := self._stages.get(stage)) and ended.total != 0:
            self._print(f"{stage}: {ended.count} in {span(ended.seconds)}")
        super().finish(stage)

    def look(self) -> None:
        """Print how far the stages are, and what is waited for."""
        now, line = time.monotonic(), self.pending_summary()
        if line and not self._waits:
            self._next = now
        self._waits = line is not None
        if now < self._next:
            return
        # What takes long is told of more rarely: a night of it is a hundred lines.
        self._next = now + max(_BETWEEN, _SHARE * (now - self._begun))
        if line:
            self._print(line)
            return
        for name, stage in list(self._stages.items()):
            self._print(f"{name}: {stage.count} after {span(stage.seconds)}{stage.left}")

    def _print(self, line: str) -> None:
        self.console.print(escape(line), soft_wrap=True)


def progress_on(console: Console) -> ShownProgress:
    """Return how progress is shown there: as bars in a terminal, as lines elsewhere."""
    return ProgressBars(console) if console.is_terminal else ProgressLines(console)


def span(seconds: float) -> str:
    """Render a time roughly."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@contextmanager
def watching() -> Iterator[None]:
    """Show on standard error how far the stages of the block are."""
    with progress_on(ERR) as shown, listening(shown):
        yield
