"""What is said to whoever calls the program without knowing it."""

from pathlib import Path

import pytest

from support.commands import Run
from support.homes import enter_home
from support.plugins import plugged_in


def test_alone_it_says_how_to_begin(run: Run, home: Path) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "graphrag-dagster demo " in out
    assert "graphrag-dagster index path/to/folder" in out
    assert out.count("\n") <= 12


def test_alone_it_says_how_to_go_on(run: Run, indexed_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter_home(monkeypatch, indexed_home)
    out = run()[1]
    assert '  graphrag-dagster ask coast "Your question"\n  graphrag-dagster explore coast\n' in out
    assert "demo" not in out


def test_many_corpora_take_no_more_lines(run: Run, home: Path) -> None:
    for number in range(9):
        (home / "corpora" / f"c{number}").mkdir()
    out = run()[1]
    assert "9 corpora in " in out
    assert "  graphrag-dagster index c2\n  graphrag-dagster corpora " in out
    assert out.count("\n") <= 12


def test_help_groups_the_commands(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    panels = ["Start", "Ask", "Look", "Evaluate", "Serve", "Models and cost", "Care"]
    places = [out.index(f"\n{panel}:\n") for panel in panels]
    assert places == sorted(places)
    assert "Commands:" not in out
    assert "cache" in out[places[5] : places[6]]


def test_the_name_of_a_command_that_was_moved_leads_to_where_it_is(run: Run) -> None:
    code, out, err = run("trace", "coast", "Why?")
    assert (code, out) == (1, "")
    assert err == "error: trace is now: graphrag-dagster ask NAME QUESTION --trace\n"


def test_a_system_takes_no_command_of_ours_and_may_use_the_name_of_one_that_was_moved(
    tmp_path: Path, run: Run
) -> None:
    module = """
from graphrag_dagster.kernel.catalogue.system import System

SYSTEM = System("tallying", "tallying", commands=dict.fromkeys(("delete", "report"), "tallying:tally"))

def tally() -> None:
    print("tallied")
"""
    points = {"tallying": "tallying:SYSTEM"}
    with plugged_in(tmp_path, {"tallying.py": module}, points, name="tallying"):
        assert run("report") == (0, "tallied\n", "")
        assert "tallied" not in "".join(map(str, run("delete", "coast")))
