"""Speech that was written down without marks, as captions are: cut into pieces that can be read alone."""

import re
from collections.abc import Iterator

from graphrag_dagster.core.text.spans import Span

#: Words of a sentence from which it is looked at, and to each of its marks from which it has too few.
_LONG, _TO_A_MARK = 45, 40
#: Words of a piece from which it may end at a line end or a pause, before a joining word, and in any case.
_AT_PAUSE, _AT_JOIN, _MOST = 10, 14, 30
_LONG_CHARACTERS = 2 * _LONG
_MARKS = re.compile(r"[^\W\d_] ?[,;:.!?…،؛。]+(?=\s|\Z)|\s[-–—]+\s|\|")
_WORD = re.compile(r"\S+")
_PAUSE = re.compile(r"\n|>>|[\[(][^\[\]()\n]{1,40}[\])]|(?:--|–|—|…|\.\.+)\s|[.,;!?]\s")
_JOINING = frozenset(
    (
        *("and", "but", "so", "because", "then", "when", "while", "although", "if", "or"),
        *("which", "who", "where", "well", "now", "okay"),
    )
)


def pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a sentence as it is, or cut where it has so many words and so few marks that it is none.

    A piece ends at a line end or a pause once it has 10 words, and has 30 words at most. Where there are no
    lines it also ends before a joining word, once it has 14 words. Text between the pieces is white space.

    Args:
        text: of which the sentence is a part.
        start: of the sentence.
        end: one past its last character.
    """
    if end - start < _LONG_CHARACTERS:
        yield Span(start, end)
        return
    found = list(_WORD.finditer(text, start, end))
    marks = sum(1 for _ in _MARKS.finditer(text, start, end - 1))
    if len(found) <= _LONG or len(found) < _TO_A_MARK * (marks + 1) or not _is_speech(text, start, end):
        yield Span(start, end)
        return
    lines = len(found) <= _MOST * text.count("\n", start, end)
    begin, count, before = start, 0, start
    for word in found:
        pause = count >= _AT_PAUSE and _PAUSE.search(text, before, word.start()) is not None
        joins = not lines and count >= _AT_JOIN and word[0].lower() in _JOINING
        if count and (pause or joins or count == _MOST):
            yield Span(begin, word.start())
            begin, count = word.start(), 0
        count += 1
        before = word.end() - 1
    yield Span(begin, end)


def _is_speech(text: str, start: int, end: int) -> bool:
    """Whether nearly all of it is letters: no table, no code."""
    part = text[start : min(end, start + 2_000)]
    return sum(map(str.isalpha, part)) > 0.9 * sum(not one.isspace() for one in part)
