"""What is shown while something goes on, where nobody looks at a terminal."""

import io
import re
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.filesize import decimal

from graphrag_dagster.cli import progress_bars as shown_progress
from graphrag_dagster.cli.commands.indexing import _work_line
from graphrag_dagster.cli.progress_bars import ShownProgress, pending_summary, span
from graphrag_dagster.kernel.common.progress import PendingCall, listening, pending_call, say, stage
from support.corpora import write_corpus


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> ShownProgress:
    """Lines of progress that are never looked for by themselves."""
    monkeypatch.setattr(ShownProgress, "_watch", lambda _: None)
    return ShownProgress(Console(file=io.StringIO(), width=60))


def printed(lines: ShownProgress) -> list[str]:
    assert isinstance(lines.console.file, io.StringIO)
    return lines.console.file.getvalue().splitlines()


def long_ago(call: PendingCall) -> None:
    call.sent, call.begun = True, time.monotonic() - 40.0


def test_bars_show_what_is_waited_for_below_them() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=160, color_system=None)
    with ShownProgress(console) as bars, listening(bars), pending_call("model m", "rate_reports") as call:
        long_ago(call)
        with stage("Rating reports", 12) as running:
            running.advance(3)
            say("model m did not answer")
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    for told in ("3/12", "waiting for model m: rating reports", "model m did not answer"):
        assert told in shown


def test_a_stage_that_ends_is_a_line_and_so_is_what_is_said(lines: ShownProgress) -> None:
    with lines, listening(lines):
        with stage("Reading files", 3) as running:
            running.advance(2)
        with stage("Merging descriptions", 0):
            say("model m did not answer within 120 s [b]")
    first, second = printed(lines)
    assert first == "model m did not answer within 120 s [b]" or first.startswith("Reading files: 2 of 3 in ")
    assert {first.split(":")[0], second.split(":")[0]} == {
        "Reading files",
        "model m did not answer within 120 s [b]",
    }


def test_it_is_told_what_is_waited_for_and_not_told_twice_at_once(lines: ShownProgress) -> None:
    with lines, listening(lines), pending_call("model m", "rate_reports") as call:
        long_ago(call)
        with stage("Rating reports", 12) as running:
            running.advance(3)
            lines.look()
            lines.look()
    line, end = printed(lines)
    assert line.startswith("waiting for model m: rating reports (3 of 12); ")
    assert line.endswith("1 under way, the oldest for 40 s")
    assert end.startswith("Rating reports: 3 of 12 in ")


@pytest.mark.parametrize(
    ("whom", "task", "told"),
    [
        ("model m", "probe", "waiting for model m: probe; "),
        ("model m", "global_reduce", "waiting for model m: global reduce; "),
        ("list of models", "", "waiting for list of models; "),
    ],
)
def test_a_call_of_no_stage_says_itself_what_it_is_for(whom: str, task: str, told: str) -> None:
    with pending_call(whom, task) as call:
        long_ago(call)
        assert str(pending_summary()).startswith(told)
    assert pending_summary() is None


def test_what_takes_long_is_told_of_more_rarely(
    lines: ShownProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Time:
        now = 1000.0

        def monotonic(self) -> float:
            return self.now

    clock = Time()
    monkeypatch.setattr(shown_progress, "time", clock)
    lines._begun = lines._next = clock.now
    lines.start("Reading files", 10)
    for _ in range(3600):
        lines.look()
        clock.now += 1.0
    assert 30 < len(printed(lines)) < 60
    assert printed(lines)[-1].startswith("Reading files: 0 of 10 after ")


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.04, "0.0 s"), (9.9, "9.9 s"), (40, "40 s"), (300, "5 min"), (9000, "2.5 h")]
)
def test_times_are_rendered_roughly(seconds: float, told: str) -> None:
    assert span(seconds) == told


def test_an_index_says_before_it_begins_how_big_the_corpus_is(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    size = sum(
        path.stat().st_size for path in folder.rglob("*") if path.name != "corpus.yaml" and path.is_file()
    )
    assert _work_line("coast", True) == f"4 files, {decimal(size)}; no model is used"
    (folder / "corpus.yaml").write_text("extraction: {engine: llm}\nmodel: {name: m}\n", "utf-8")
    assert _work_line("coast", False).endswith("; model m is used")
    assert re.search("; model m is used, about [0-9]+ calls$", _work_line("coast", True))


def test_the_time_left_is_told_by_the_latest_speed(
    lines: ShownProgress, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([*([0.001] * 101), *range(20, 1020, 20)])
    monkeypatch.setattr(lines._bars, "get_time", lambda: next(clock))
    lines._next = 0.0
    lines.start("Reading files", 200)
    for _ in range(110):
        lines.advance("Reading files", 1)
    lines.look()
    assert printed(lines)[0].endswith(", about 30 min left")
