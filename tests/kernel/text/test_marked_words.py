import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.text.marked_words import MarkupSpans, in_bold
from graphrag_dagster.kernel.text.markup_spans import Span

PROSE = [
    "Ada Rusk",
    "in 1924",
    "twelve",
    "the boathouse",
    "Ada's",
    "mid-1923",
    "£40",
    "4,200 crowns",
    "Ağrı",
    "👍",
]
#: No mark begins, ends or lies in any of these.
CLOSED = [
    "[the harbour board](https://example.org/d/1ab12B5eB7Yf9/board)",
    '[Ada (Rusk)](/d/12_(3) "in 1924")',
    "![Ada Rusk](a/1924.png)",
    "[the log][1924]",
    "[[Ada Rusk|Ada]]",
    "<https://example.org/1924/Ada>",
    "https://example.org/d/1924/Ada?q=12&r=Ada#Rusk-40",
    "www.example.org/1924/12",
    "mailto:ada@example.org",
    "ada.rusk-12@example.org",
    '<a href="/1924" title="Ada > Rusk">Ada Rusk</a>',
    "<img alt='Ada Rusk' width=12>",
    "`Ada 12`",
    "``Ada ` 12``",
    "<code>Ada 12</code>",
    "{{ Ada 12 }}",
]
#: No mark begins or ends in any of these.
WORDS = ["1ab12B5eB7Yf9", "10:30:12", "192.168.12.40", "example.org/1924/12", "twenty-one", "Osk's", "a" * 90]
PIECES = st.sampled_from([*PROSE, *CLOSED, *WORDS])


def without_marks(drawn: str, text: str) -> str | None:
    """What is drawn without pairs of asterisks that the text does not have; None where more differs."""
    kept, place = "", 0
    while place < len(drawn):
        if drawn.startswith("**", place) and not text.startswith("**", len(kept)):
            place += 2
            continue
        kept += drawn[place]
        place += 1
    return kept if kept == text else None


@given(st.lists(PIECES, min_size=1, max_size=5), st.sampled_from([" ", ", ", "\n", "\n\n"]), st.data())
def test_no_mark_begins_or_ends_in_a_word_a_link_or_code(
    pieces: list[str], between: str, data: st.DataObject
) -> None:
    text = between.join(pieces) + "."
    start = data.draw(st.integers(0, len(text) - 2))
    end = data.draw(st.integers(start + 1, len(text) - 1))
    whole = MarkupSpans(text).whole_words(Span(start, end))
    if whole is None:
        return
    assert whole.start <= start
    assert end <= whole.end
    for edge in (whole.start, whole.end):
        assert not re.fullmatch(r"\w\w", text[edge - 1 : edge + 1] if edge else "")
    place = 0
    for piece in pieces:
        last = place + len(piece)
        assert piece not in CLOSED or whole.end <= place or last <= whole.start
        assert piece not in WORDS or not any(place < edge < last for edge in (whole.start, whole.end))
        place = last + len(between)
    drawn = in_bold(text, [whole])
    assert f"**{text[whole.start : whole.end]}**" in drawn
    assert without_marks(drawn, text) == text


@given(st.text("ab1 *`_[](<>\n@:/.'-", max_size=40), st.integers(0, 39), st.integers(1, 12))
def test_what_is_drawn_is_the_text_without_its_marks(text: str, start: int, length: int) -> None:
    whole = (
        MarkupSpans(text).whole_words(Span(start, min(start + length, len(text))))
        if start < len(text)
        else None
    )
    drawn = in_bold(text, [whole] if whole else [])
    assert without_marks(drawn, text) == text


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("Built by Ada Rusk's uncle.", "Ada Rusk", "Ada Rusk's"),
        ("The rent of 1923-24 was paid.", "1923", "1923-24"),
        ("The rent was £40.", "£40", "£40"),
        ("Andre\u0301 Osk built it.", "Andre", None),
        ("Use `a. Then 12 more", "12", None),
        ('See <a href="/1924 or 12', "12", None),
        ("[log]: https://example.org 'Ada Rusk'", "Ada Rusk", None),
        ("It took 5pm-ish 12kg.", "12", None),
        ("Osk–Rusk owned it.", "Rusk", "Rusk"),
    ],
)
def test_a_mark_holds_whole_words_or_there_is_none(text: str, words: str, marked: str | None) -> None:
    start = text.index(words)
    whole = MarkupSpans(text).whole_words(Span(start, start + len(words)))
    assert (text[whole.start : whole.end] if whole else None) == marked


@pytest.mark.parametrize(
    "text",
    [
        "**Note:** Ada built it.",
        "A ` tick. Ada built it, as ` says.",
        "```\nx\n\nAda built it.",
        "2 * 3. Ada.",
    ],
)
def test_what_markdown_would_read_otherwise_is_not_drawn(text: str) -> None:
    start = text.index("Ada")
    assert in_bold(text, [Span(start, start + 3)]) == text
