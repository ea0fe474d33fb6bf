"""Progress bars for the stages of the core."""

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from graphrag_dagster.core.progress import Listener


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.1f}/s" if speed else "", style="dim")


class ProgressBars(Listener):
    """One bar per running stage, with rate and time left; used as a context manager."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description:<42}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            _Rate(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> "ProgressBars":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress.tasks:
            self._progress.stop()

    def start(self, stage: str, total: int | None) -> None:
        """Add a bar; the first one opens the display."""
        self._progress.start()
        self._tasks[stage] = self._progress.add_task(stage, total=total)

    def advance(self, stage: str, steps: int) -> None:
        """Move a bar."""
        if stage in self._tasks:
            self._progress.advance(self._tasks[stage], steps)

    def finish(self, stage: str) -> None:
        """Leave the bar as it stands."""
        if (task := self._tasks.pop(stage, None)) is not None:
            self._progress.stop_task(task)
