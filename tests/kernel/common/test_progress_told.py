"""Who listens hears of every stage and step, and calls under way are counted."""

import logging
from collections.abc import Iterator

import pytest

from graphrag_dagster.kernel.common.progress import (
    current_calls,
    listening,
    pending_call,
    say,
    stage,
    track,
    without_progress,
)


class Heard:
    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []

    def start(self, stage: str, total: int | None) -> None:
        self.lines.append(("start", stage, total))

    def advance(self, stage: str, steps: int) -> None:
        self.lines.append(("advance", stage, steps))

    def finish(self, stage: str) -> None:
        self.lines.append(("finish", stage))

    def say(self, line: str) -> None:
        self.lines.append(("say", line))


@pytest.fixture
def heard() -> Iterator[Heard]:
    made = Heard()
    with listening(made):
        yield made


def test_stages_and_steps_are_heard_in_their_order_and_nothing_afterwards(heard: Heard) -> None:
    assert list(track("ab", "reading", 2)) == ["a", "b"]
    with stage("writing") as running:
        running.advance(3)
    with pytest.raises(ValueError, match="no"), stage("failing"):
        raise ValueError("no")
    say("so")
    assert heard.lines == [
        ("start", "reading", 2),
        ("advance", "reading", 1),
        ("advance", "reading", 1),
        ("finish", "reading"),
        ("start", "writing", None),
        ("advance", "writing", 3),
        ("finish", "writing"),
        ("start", "failing", None),
        ("finish", "failing"),
        ("say", "so"),
    ]


def test_stages_of_a_stage_are_not_heard(heard: Heard) -> None:
    with stage("whole"), without_progress():
        assert list(track("ab", "part")) == ["a", "b"]
    with stage("next"):
        pass
    assert [line[:2] for line in heard.lines] == [
        ("start", "whole"),
        ("finish", "whole"),
        ("start", "next"),
        ("finish", "next"),
    ]


def test_what_nobody_listens_to_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="graphrag_dagster"):
        say("so")
    assert caplog.messages == ["so"]


def test_calls_are_counted_as_waiting_as_sent_and_as_done_where_they_end_well() -> None:
    before = current_calls()
    with pending_call("m", "route") as first, pending_call("m", "route") as second:
        assert (current_calls().in_flight - before.in_flight, current_calls().waiting - before.waiting) == (
            0,
            2,
        )
        second.sent, second.begun = True, -2.0
        assert current_calls().oldest is second
        first.sent, first.begun = True, -3.0
        assert (current_calls().in_flight - before.in_flight, current_calls().oldest) == (2, first)
    assert current_calls().done - before.done == 2
    with pytest.raises(ValueError, match="no"), pending_call("m", "route"):
        raise ValueError("no")
    assert current_calls() == type(before)(before.done + 2, before.in_flight, before.waiting, before.oldest)
