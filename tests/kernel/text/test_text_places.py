"""Names and quotations found in a text."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.text.markup_spans import Span

_KINDS = ("'’‘`´", '"“”„«»', "-‐‑‒–—")
_ALIKE = {char: f"[{re.escape(kind)}]" for kind in _KINDS for char in kind}
_TEXTS = st.text("aAbBsSſkKéÉßΣσςiIıİ1_.,'’`\"“”-–  \n\t\u00a0", max_size=60)


def _pattern(words: str) -> str:
    return r"\s+".join("".join(_ALIKE.get(char, re.escape(char)) for char in word) for word in words.split())


def _found(pattern: str, text: str) -> tuple[Span, ...]:
    return tuple(Span(*match.span()) for match in re.finditer(pattern, text, re.IGNORECASE))


@given(_TEXTS, _TEXTS)
@example("x aa aaa", "a")
@example("the  Old\n\nHarbour’s wall", "old harbour's")
def test_places_are_those_of_the_pattern_that_says_what_is_alike(text: str, words: str) -> None:
    pattern = _pattern(words)
    places = TextPlaces(text)
    whole = rf"(?<!\w){pattern}(?!\w)"
    assert places.name(words) == (_found(whole, text) if pattern else ())
    assert places.quote(words) == (_found(pattern, text)[:1] if pattern else ())


@given(st.text("aA b\n", max_size=40), st.data())
def test_words_taken_from_a_text_are_found_in_it(text: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(text)))
    words = text[begin : data.draw(st.integers(begin, len(text)))]
    found = TextPlaces(text).quote(words.upper())
    assert bool(found) == bool(words.strip())
    assert all(text[span.start : span.end].lower().split() == words.lower().split() for span in found)


def test_a_sentence_counts_where_a_place_of_each_group_begins_in_it() -> None:
    text = "Hanna came. Piet saw Hanna. Piet left.  "
    places = TextPlaces(text)
    both = places.sentences_with(places.name("HANNA"), places.name("piet"))
    assert [text[span.start : span.end] for span in both] == ["Piet saw Hanna."]
    assert places.sentences_with([Span(len(text) - 1, len(text))], places.name("piet")) == ()
