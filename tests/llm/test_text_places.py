"""Where names stand in a text, beside a regular expression that finds the same."""

import re

from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.core.text.text_places import TextPlaces

KINDS = ("'’‘`´", '"“”„«»', "-‐‑‒–—")
ALIKE = {char: f"[{re.escape(kind)}]" for kind in KINDS for char in kind}
#: Letters that no single capital stands for, two by two, are not told to be the same.
APART = "ΐΐΰΰﬅﬆ"
LETTERS = st.text(
    st.sampled_from("aAbİiIıſsSKkKςσΣßẞéÉµμ_19 \n\t\u2009-–'’") | st.characters(exclude_characters=APART)
)


def expected(name: str, text: str, *, whole: bool) -> list[tuple[int, int]]:
    words = ["".join(ALIKE.get(char, re.escape(char)) for char in word) for word in name.split()]
    if not words:
        return []
    pattern = r"\s+".join(words)
    found = re.finditer(rf"(?<!\w){pattern}(?!\w)" if whole else pattern, text, re.IGNORECASE)
    return [match.span() for match in found]


@given(LETTERS, st.text("ab -’\n", max_size=4), st.text("aB ‐'", max_size=4), LETTERS)
def test_names_and_quotes_are_found_in_any_spelling(before: str, name: str, other: str, after: str) -> None:
    for asked in (name, other, before[:3], before[1:4] + " " + after[:2]):
        text = f"{before}{name} {before.swapcase()}{other.upper()}{after}{name}"
        places = TextPlaces(text)
        assert [(span.start, span.end) for span in places.name(asked)] == expected(asked, text, whole=True)
        quoted = expected(asked, text, whole=False)[:1]
        assert [(span.start, span.end) for span in places.quote(asked)] == quoted


def test_a_name_stands_as_whole_words() -> None:
    text = "O’Brien met O'Brien's\nsister; an O'Briens too: O'BRIEN\t SISTER."
    assert [text[s.start : s.end] for s in TextPlaces(text).name("o'brien")] == [
        "O’Brien",
        "O'Brien",
        "O'BRIEN",
    ]
    assert [text[s.start : s.end] for s in TextPlaces(text).name("O'Brien sister")] == ["O'BRIEN\t SISTER"]
    assert TextPlaces(text).name(" ") == ()
