"""What is before an index, as it is told when it begins."""

from rich.markup import escape

from graphrag_dagster.apps.planning.outlook import Outlook
from graphrag_dagster.cli.output.console import ERR
from graphrag_dagster.cli.output.progress import span


def show_outlook(before: Outlook) -> None:
    """Print to standard error how big a corpus is, and how long its index may take."""
    words = f", about {before.words:,} words" if before.words is not None else ""
    files = "1 file" if before.files == 1 else f"{before.files:,} files"
    ERR.print(f"{files}, {_size(before.bytes)}{words}; {_time(before)}", soft_wrap=True)


def _time(before: Outlook) -> str:
    asks = f"model {escape(before.asks)} is used" if before.asks else "no model is used"
    if before.calls is not None:
        asks += f", about {before.calls.expected:,.0f} calls"
    if before.last:
        then = "" if before.last.bytes == before.bytes else f", then {_size(before.last.bytes)}"
        return f"{asks}; the last index took {span(before.last.seconds)}{then}"
    if before.seconds is None:
        return f"{asks}; its speed is unknown: run graphrag-dagster doctor to measure it"
    by = "by the speed measured so far" if before.asks else "by the size"
    low, high = span(before.seconds.low), span(before.seconds.high)
    return f"{asks}; this may take {low} to {high}, a rough guess {by}"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"
