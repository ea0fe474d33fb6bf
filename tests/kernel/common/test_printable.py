"""Text from outside commands no terminal, and errors of the system say what to do."""

import errno
import json
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.printable import json_text, os_error_message, plural, printable, shorten

HOSTILE = "\x1b]0;title\x07 \x1b[2Jgone \x9b31m \u202egnp.exe \x7f \ud800 over\rwritten :warning: [/] [red]x"
SPELT = r"\x1b]0;title\x07 \x1b[2Jgone \x9b31m \u202egnp.exe \x7f \ud800 over\x0dwritten :warning: [/] [red]x"


def test_what_commands_a_terminal_is_spelt_out_and_nothing_else_changes() -> None:
    assert printable(HOSTILE) == SPELT
    assert printable("Zürich\t„Straße“\r\n海  שלום 🌊") == "Zürich\t„Straße“\n海  שלום 🌊"
    assert printable(printable(HOSTILE)) == printable(HOSTILE)


@pytest.mark.parametrize(
    ("text", "most", "told"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("a\nb", 9, r"a\x0ab"),
        ("\xff\x7f", 9, "ÿ\\x7f"),
        ("\u0100\u202e", 9, "Ā\\u202e"),
        (chr(0xFFFF), 9, r"\uffff"),
        (chr(0x10000) + chr(0xE0001), 9, chr(0x10000) + r"\U000e0001"),
    ],
)
def test_a_line_is_cut_and_shows_what_cannot_be_seen(text: str, most: int, told: str) -> None:
    assert shorten(text, most) == told


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ([math.nan, math.inf, -math.inf, 1.5], ["NaN", "Infinity", "-Infinity", 1.5]),
        ({"a": {"b": (math.nan,)}, "c": HOSTILE}, {"a": {"b": ["NaN"]}, "c": HOSTILE}),
        ({"a": "é", "b": [None, True, 1]}, {"a": "é", "b": [None, True, 1]}),
    ],
)
def test_json_can_be_read_and_commands_nothing(value: object, read: object) -> None:
    told = json_text(value)
    assert json.loads(told) == read
    assert printable(told) == told


@given(st.text())
def test_any_text_comes_back_from_json(text: str) -> None:
    assert json.loads(json_text([text], indent=None)) == [text]


def test_numbers_have_their_nouns() -> None:
    assert [plural(number, "question") for number in (0, 1, 2, 1250)] == [
        "0 questions", "1 question", "2 questions", "1,250 questions",
    ]  # fmt: skip
    assert plural(2, "reply", "replies") == "2 replies"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/a/b"),
            "/a/b: no space left on device; the disk is full: free space, and run again",
        ),
        (
            OSError(errno.EEXIST, "File exists", "/a", None, b"/b"),
            "/a and /b: file exists; something else is there: move it away, or choose another location",
        ),
        (
            OSError(errno.ENOTTY, "Not a typewriter", 3),
            "this system: not a typewriter; fix it, and run again",
        ),
        (OSError("Two\nlines"), "this system: two; fix it, and run again"),
        (OSError(), "this system: oSError; fix it, and run again"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="numbers of errors are those of POSIX")
def test_an_error_of_the_system_names_its_mend(error: OSError, told: str) -> None:
    assert os_error_message(error) == told
