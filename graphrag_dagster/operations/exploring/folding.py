"""Texts without case and accents, in SQL and in Python."""

import unicodedata

from graphrag_dagster.core.text.spans import Span
from graphrag_dagster.errors import QuestionError

#: A text without case and accents, as SQL.
FOLDED = "lower(strip_accents({text}))"
MOST_WORDS = 20
_LONGEST = 4_000


def words_of(query: str) -> list[str]:
    """Return the words of a query, each once.

    Raises:
        QuestionError: these are too many, or too long.
    """
    words = list(dict.fromkeys(query.split()))
    if len(words) > MOST_WORDS or len(query) > _LONGEST:
        raise QuestionError(f"look for at most {MOST_WORDS} words of {_LONGEST:,} characters in all")
    return words


def folded(text: str) -> str:
    """Return a text without case and accents."""
    return "".join(map(_folded_character, text))


def place_of(text: str, word: str) -> Span | None:
    """Return where a word first stands in a text, whatever its case and accents; None where it does not."""
    parts = [_folded_character(character) for character in text]
    start = "".join(parts).find(folded(word))
    if start < 0 or not word:
        return None
    ends = start + len(folded(word))
    length, first = 0, None
    for place, part in enumerate(parts):
        if first is None and length + len(part) > start:
            first = place
        length += len(part)
        if first is not None and length >= ends:
            return Span(first, place + 1)
    return None


def _folded_character(character: str) -> str:
    if character.isascii():
        return character.lower()
    parts = unicodedata.normalize("NFD", character)
    return "".join(part for part in parts if not unicodedata.category(part).startswith("M")).lower()
