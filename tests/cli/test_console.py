"""Nothing that comes from outside commands the terminal it is shown in."""

import json
import re
from pathlib import Path

import pytest
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from graphrag_dagster.cli.console import SafeConsole, markdown, print_error, print_json
from graphrag_dagster.kernel.common.printable import json_text
from support.commands import Run

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "\x1b]0;title\x07 \x1b[2Jgone \x9b31m \u202egnp.exe \x7f \ud800 over\rwritten :warning: [/] [red]x"
SPELT = r"\x1b]0;title\x07 \x1b[2Jgone \x9b31m \u202egnp.exe \x7f \ud800 over\x0dwritten :warning: [/] [red]x"


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> SafeConsole:
    for variable in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    return SafeConsole()


def _table() -> Table:
    table = Table(title=escape(HOSTILE))
    table.add_column(escape(HOSTILE))
    table.add_row(escape(HOSTILE))
    return table


def _tree() -> Tree:
    tree = Tree(escape(HOSTILE))
    tree.add(Text(HOSTILE))
    return tree


@pytest.mark.parametrize("made", [lambda: escape(HOSTILE), lambda: Text(HOSTILE), _table, _tree])
def test_every_kind_of_thing_that_is_printed_is_safe(console: SafeConsole, capsys, made) -> None:
    console.print(made(), style="bold", soft_wrap=True)
    out = capsys.readouterr().out
    plain = COLOURS.sub("", out)
    assert plain != out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", plain)
    assert r"\x1b[2Jgone \x9b31m \u202egnp.exe \x7f \ud800" in plain


def test_columns_are_as_wide_as_what_is_shown(console: SafeConsole, capsys) -> None:
    console.print(_table())
    widths = {len(line) for line in COLOURS.sub("", capsys.readouterr().out).splitlines()[1:]}
    assert len(widths) == 1


@pytest.mark.parametrize(
    "text", ["[x](http://evil.example/a)", "<http://evil.example/a>", "[link=http://e]x[/link]"]
)
def test_no_text_becomes_a_link(console: SafeConsole, capsys, text: str) -> None:
    console.print(markdown(text))
    console.print(text)
    assert "\x1b]8" not in capsys.readouterr().out


def test_markup_that_does_not_add_up_is_shown_as_it_is(console: SafeConsole, capsys) -> None:
    console.print("closed [/bold] where nothing was open")
    assert "closed [/bold] where nothing was open" in capsys.readouterr().out


def test_json_is_safe_and_means_the_same(capsys) -> None:
    value = {"text": HOSTILE.replace("\ud800", ""), "n": [1, 2.5, None], "ü": "ü"}
    print_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "\u202e" not in out
    assert '"ü": "ü"' in out
    assert json.loads(json_text([float("nan"), {"a": (float("-inf"), 1.5)}])) == [
        "NaN",
        {"a": ["-Infinity", 1.5]},
    ]


def test_errors_are_safe(capsys, run: Run, home: Path) -> None:
    print_error(HOSTILE)
    assert capsys.readouterr().err == f"error: {SPELT}\n"
    (home / "\x1b[31mred").mkdir()
    for arguments in (["index", "./\x1b[31mred"], ["show", "\x1b[2J"], ["--\x1b[2J"], ["x\x1b[2J"]):
        code, out, err = run(*arguments)
        assert code in {1, 2}
        assert "\x1b" not in out + err
        assert r"\x1b[" in err
        assert any(line.startswith("error: ") for line in err.splitlines())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask"], "Missing argument 'name'; see: "),
        (["ask", "--colour"], "No such option: --colour"),
        (["show", "coast", "--reports", "many"], "'--reports'"),
    ],
)
def test_a_command_that_is_written_wrongly_is_one_line(run: Run, arguments: list[str], words: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert words in err
    assert err.count("\n") == 1
