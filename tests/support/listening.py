"""A listener that keeps what is said."""

from graphrag_dagster.kernel.common.progress import Listener


class Heard(Listener):
    """Keeps the lines that were said, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def start(self, stage: str, total: int | None) -> None:
        pass

    def advance(self, stage: str, steps: int) -> None:
        pass

    def finish(self, stage: str) -> None:
        pass

    def say(self, line: str) -> None:
        self.lines.append(line)
