"""Windows of so many characters that end where a text has a boundary."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from graphrag_dagster.core.text.sentences import sentence_spans
from graphrag_dagster.errors import SettingsError

_BLANKS = re.compile(r"\s+")
_JOINER = "\u200d"

#: Start and end in characters.
Range = tuple[int, int]


def character_windows(text: str, size: int, overlap: int) -> list[Range]:
    """Return windows of at most ``size`` characters that cover a text; of an empty text none.

    A window ends after the last blank line of its second half, else the last line end there, the last
    sentence end, the last white space; else, and inside a word alone, at its limit, but not between a
    character and its accents. The next begins with the first word of the last ``overlap`` characters of it,
    or ``overlap`` characters before its end where no word begins there.

    Raises:
        SettingsError: not 0 ≤ overlap < size.
    """
    if not 0 <= overlap < size:
        raise SettingsError(
            f"text_units.overlap ({overlap}) must be at least 0 and smaller than text_units.size ({size})"
        )
    kinds = _boundaries(text)
    words = kinds[-1]
    windows: list[Range] = []
    start = 0
    while start + size < len(text):
        # Past what is shared, so that every window has something of its own.
        least = start + max(size // 2, overlap + 1)
        end = _last_within(kinds, least, start + size) or _between_characters(text, least, start + size)
        windows.append((start, end))
        start = _first_within(words, end - overlap, end)
    return [*windows, (start, len(text))] if text else []


def _boundaries(text: str) -> tuple[Sequence[int], ...]:
    """Where something begins, by kind: behind a blank line, a line end, a sentence end, white space."""
    words = [found.span() for found in _BLANKS.finditer(text)]
    line_ends = [(text.count("\n", start, end), end) for start, end in words]
    return (
        [end for newlines, end in line_ends if newlines > 1],
        [end for newlines, end in line_ends if newlines],
        [span.start for span in sentence_spans(text)],
        [end for _, end in words],
    )


def _last_within(kinds: Sequence[Sequence[int]], least: int, most: int) -> int | None:
    for places in kinds:
        found = bisect_right(places, most) - 1
        if found >= 0 and places[found] >= least:
            return places[found]
    return None


def _first_within(places: Sequence[int], least: int, end: int) -> int:
    found = bisect_left(places, least)
    return places[found] if found < len(places) and places[found] < end else least


def _between_characters(text: str, least: int, most: int) -> int:
    """The last place up to ``most`` that parts no character from its marks; ``most`` where there is none."""
    return next((place for place in range(most, least, -1) if not _joined(text, place)), most)


def _joined(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    marked = _JOINER in (before, after) or unicodedata.category(after).startswith("M")
    return marked or before + after == "\r\n"
