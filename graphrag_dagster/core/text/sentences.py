"""Sentences of a text, by rules."""

import re
from collections.abc import Iterator
from itertools import pairwise

from graphrag_dagster.core.text.abbreviations import BEFORE_NUMBERS, EITHER, INSIDE, STARTERS, TITLES
from graphrag_dagster.core.text.spans import Span

_CLOSERS = "\"'”’»›)\\]}*_"
_OPENERS = "\"'“‘«‹([{*_¿¡—–-"
_EAST_ASIAN = "。！？｡"
_STOPS = ".!?…؟۔।॥։።"
# Possessive, and not inside a run of stops, so that time stays linear whatever the text.
_STOP = re.compile(
    rf"(?<![{_EAST_ASIAN}])[{_EAST_ASIAN}]++[」』）】》〉”’\"']*+"
    rf"|(?<![{_STOPS}])[{_STOPS}]++[{_CLOSERS}]*+(?:\[\d+(?:[,–-]\s?\d+)*\])*(?=\s|\Z)"
)
_WORD_BEFORE = re.compile(r"[^\s]*\Z")
_NEXT = re.compile(rf"\s*(?P<opening>[{re.escape(_OPENERS)}]*)\s?(?P<word>[^\W_]+(?:['’][^\W_]+)?)?")
_BLANK_LINE = re.compile(r"\n[ \t\f\v]*(?:\n[ \t\f\v]*)+|\f")
_NEW_LINE = re.compile(r"\n")
_ITEM = re.compile(r"(?:[-*+•‣◦▪●–—]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})[.)])\s+\S")
_ITEM_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})\Z")
_STRUCTURE = re.compile(r"#{1,6}\s|\||>|```|~~~|={3,}$|-{3,}$|\*{3,}$|<!--")
_LABEL = re.compile(r"[^\W\d_a-z][\w.'’ -]{0,40}:(?:\s|\Z)")
_CAPITAL = re.compile(r"[^\W\d_]\Z")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")
_CONTINUES = re.compile(
    r"(?:[,;(\[{–—/&-]|\b(?:and|or|of|the|a|an|to|in|for|with|by|at|from|on|as|that|which|who))\Z",
    re.IGNORECASE,
)


def sentence_spans(text: str) -> list[Span]:
    """Return the sentences of a text in order, without the white space around them.

    Every character that is not white space lies in exactly one span. Blank lines, headings, list items and
    table rows are boundaries, and so is a line end before a label such as ``Chair:`` or after which the next
    word would have had room; other line ends are not. Abbreviations, initials, decimals, and stops followed
    by a small letter are not boundaries; East Asian stops are.
    """
    spans = []
    for start, end in _blocks(text):
        place = start
        for stop in _STOP.finditer(text, start, end):
            if stop.end() >= end:
                break
            if _ends_sentence(text, place, stop, end):
                spans.append((place, stop.end()))
                place = stop.end()
        spans.append((place, end))
    stripped = (_stripped(text, start, end) for start, end in spans)
    return [span for span in stripped if span.start < span.end]


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return Span(start + len(part) - len(part.lstrip()), start + len(part.rstrip()))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Ranges within which line ends may be mere line wrapping."""
    start = 0
    for gap in _BLANK_LINE.finditer(text):
        yield from _lines_of_block(text, start, gap.start())
        start = gap.end()
    yield from _lines_of_block(text, start, len(text))


def _lines_of_block(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    breaks = [match.start() for match in _NEW_LINE.finditer(text, start, end)]
    lines = list(zip([start, *(place + 1 for place in breaks)], [*breaks, end], strict=True))
    width = max(last - first for first, last in lines)
    begin = start
    for line, following in pairwise(lines):
        if _breaks(text, line, following, width):
            yield begin, line[1]
            begin = following[0]
    yield begin, end


def _breaks(text: str, line: tuple[int, int], following: tuple[int, int], width: int) -> bool:
    """Whether the line end between two lines was meant."""
    above = text[line[0] : line[1]].strip()
    below = text[following[0] : min(following[1], following[0] + 120)].strip()
    if not above or not below:
        return True
    if _STRUCTURE.match(below) or _STRUCTURE.match(above) or _ITEM.match(below):
        return True
    if below[0].islower() or _CONTINUES.search(above):
        return False
    if _LABEL.match(below):
        return True
    last = above.rsplit(None, 1)[-1]
    if last.endswith(".") and last[:-1].strip(_OPENERS).casefold() in TITLES:
        return False
    first_word = below.split(None, 1)[0]
    return len(above) + 1 + len(first_word) + max(8, width // 10) < width


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    marks = stop[0]
    if marks[0] in _EAST_ASIAN:
        return True
    following = _NEXT.match(text, stop.end(), min(end, stop.end() + 80))
    word = (following["word"] if following else None) or ""
    if word and word[0].islower():
        return False
    if marks[0] != "." or marks.startswith(".."):
        return True
    before = _WORD_BEFORE.search(text, max(begin, stop.start() - 40), stop.start())
    bare = before[0].lstrip(_OPENERS) if before else ""
    if _ITEM_NUMBER.match(bare) and not text[begin : min(stop.start() - len(bare), begin + 9)].strip(
        _OPENERS + " \t\n"
    ):
        return False
    # A closing quotation mark or bracket after the stop leaves no doubt, save after initials.
    closed = len(marks) > 1 and not marks.endswith("*")
    return _stop_after(bare, word, closed)


def _stop_after(bare: str, following: str, closed: bool) -> bool:
    """Whether a full stop after ``bare`` ends a sentence when the word ``following`` comes next."""
    folded = bare.casefold()
    starts = following.casefold() in STARTERS
    if folded in BEFORE_NUMBERS and following[:1].isdigit():
        return False
    if _CAPITAL.match(bare) or _DOTTED.search(bare) or folded in EITHER:
        if folded in INSIDE:
            return False
        return starts or (closed and not _CAPITAL.match(bare)) or not following
    if folded in TITLES:
        return folded in ("st", "sr", "ft", "dept") and starts
    if folded in INSIDE:
        return folded == "al" and starts
    return True
