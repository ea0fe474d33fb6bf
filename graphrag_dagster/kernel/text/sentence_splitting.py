"""Sentences of a text, by rules."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from graphrag_dagster.kernel.text.markup_spans import (
    BEFORE_NUMBERS,
    EITHER,
    INSIDE,
    STARTERS,
    TEMPLATE_TAG,
    TITLES,
    Span,
    pieces,
    undivided,
)

_CLOSERS = "\"'”’»›)\\]}*_`"
_OPENERS = "\"'“‘«‹([{*_¿¡—–-"
#: What code, a link or an emphasised word begins with; characters of a line from which it may be wrapped.
_MARKED, _WRAPPED = frozenset("`[:*_<("), 40
_ENDING = frozenset(".!?…:;。！？؟।")
_EAST_ASIAN = "。！？｡"
_QUOTED = ('"', "'", "”", "’", "»", "›")
#: Characters of a word before a stop from which it is no abbreviation, where nothing is written large.
_SHORT = 3
_STOPS = ".!?…؟۔।॥։።"
# Possessive, and not inside a run of stops, so that time stays linear whatever the text.
_STOP = re.compile(
    rf"(?<![{_EAST_ASIAN}])[{_EAST_ASIAN}]++[」』）】》〉”’\"']*+"
    rf"|(?<![{_STOPS}])[{_STOPS}]++[{_CLOSERS}]*+(?:(?<=\])\([^()\s]{{1,1000}}\)[{_CLOSERS}]*+)?"
    r"(?:</[A-Za-z][A-Za-z0-9]{0,20}>){0,5}(?:\[\d+(?:[,–-]\s?\d+)*\]_?|\[\^[\w-]{1,40}\])*(?=\s|\Z|<)"
)
_WORD_BEFORE = re.compile(r"[^\s]*\Z")
_NEXT = re.compile(
    rf"\s*(?:<[^<>]{{1,80}}>\s*|{TEMPLATE_TAG})*[{re.escape(_OPENERS)}]*\s?"
    r"(?:(?P<code>`|:[\w:-]{1,40}:`)|&\#?\w{1,8};|(?P<word>[^\W_]+(?:['’][^\W_]+)?))?"
)
#: Where paragraphs end; a tag of HTML that ends one belongs to it.
_GAP = re.compile(
    r"\n[ \t\f\v]*(?:\n[ \t\f\v]*)+|\f"
    r"|(?P<tag><br\s?/?>|</(?:p|li|tr|td|th|h[1-6]|div|dt|dd|summary|blockquote|option|button)>)",
    re.IGNORECASE,
)
_NEW_LINE = re.compile(r"\n")
_ITEM = re.compile(
    r"(?:[-*+•‣◦▪●–—]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})[.)]|\d{1,3}(?:\.\d{1,3}){2,6}\.?|#\.|:)\s+\S"
    r"|\d{1,2}\.\d{1,2}\.?\s+[A-Z][a-z]"
)
_ITEM_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})\Z")
_STRUCTURE = re.compile(
    rf"#{{1,6}}\s|\||>>>|```|~~~|([=\-~^\"'`#*+_.:])\1{{2,}}$|\+[-=]{{3}}|<!--|\.\.(?:\s|$)|:::|!!!\s|\?\?\?\+?\s|\[!"
    rf"|\[\^[\w-]{{1,40}}\]:|(?:{TEMPLATE_TAG})\s*$|</?(?:p|li|ul|ol|div|h[1-6]|table|tr|t[dh]|d[dlt]|pre)\b"
    r"|[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?[\])]?(?:\s|$)"
)
_LABEL = re.compile(r"[^\W\d_a-z][\w.'’ -]{0,40}:(?:\s|\Z)")
#: A directive whose words begin behind it, and may be wrapped.
_ADMONITION = re.compile(
    r"\.\.\s(?:note|warning|tip|hint|important|caution|danger|attention|error|seealso|deprecated|version\w+)::\s+\S"
)
#: A line of a chat, a transcript or a form, whatever the case of the name.
_SAID = re.compile(
    r"(?:[\[(]?\d{1,2}:\d{2}[^\s\])]{0,12}[\])]?\s*[-–—]?\s*)?"
    r"(?:<@?[\w.' -]{1,40}>|@?[^\W\d_][\w.'’-]{0,30}(?:\s[\w.'’-]{1,20}){0,2}(?:\s\([^()]{1,40}\))?:)"
    r"(?:\s|\Z)"
)
#: A word in small letters before a stop, which no abbreviation is.
_WHOLE_WORD = re.compile(r"[a-zß-öø-ÿ]{4,}\Z|[`)\]]\Z")
_FIRST_LETTER = re.compile(r"[^\W\d_]")
_LOWER_BEGINS = re.compile(r"[.!?]\s+[a-zß-öø-ÿ]")
_UPPER_BEGINS = re.compile(rf"[.!?][{_CLOSERS}]*\s+[{re.escape(_OPENERS)}]*[^\W\d_a-zß-öø-ÿ]")
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
    word would have had room; other line ends are not. Abbreviations, initials and decimals are not
    boundaries, nor is anything inside a link, code, an address or a tag. A stop before a small letter is one
    where the text is written without capitals, or behind a whole word. East Asian stops always are. Long runs
    of words without any mark are cut at line ends, pauses or joining words.
    """
    spans: list[Span] = []
    for start, end in _blocks(text):
        place = start
        whole = list(undivided(text, start, end))
        begins = [span.start for span in whole]
        lower = None
        for stop in _STOP.finditer(text, start, end):
            if stop.end() >= end:
                break
            if _inside(stop.start(), stop.end(), whole, begins):
                continue
            if lower is None:
                lower = _without_capitals(text, start, end)
            if _ends_sentence(text, place, stop, end, lower=lower):
                spans += pieces(text, place, stop.end())
                place = stop.end()
        spans += pieces(text, place, end)
    stripped = (_stripped(text, span.start, span.end) for span in spans)
    return [span for span in stripped if span.start < span.end]


def _inside(start: int, end: int, whole: Sequence[Span], begins: Sequence[int]) -> bool:
    place = bisect_right(begins, start) - 1
    # A stop that belongs to what it ends, such as a tag, is none inside of it.
    return place >= 0 and end < whole[place].end and start > whole[place].start


def _without_capitals(text: str, start: int, end: int) -> bool:
    """Whether sentences begin with small letters here."""
    first = _FIRST_LETTER.search(text, start, end)
    if first is None or not first[0].islower():
        return False
    lower = sum(1 for _ in _LOWER_BEGINS.finditer(text, start, end))
    upper = sum(1 for _ in _UPPER_BEGINS.finditer(text, start, end))
    return lower >= 2 * upper


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return Span(start + len(part) - len(part.lstrip()), start + len(part.rstrip()))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Ranges within which line ends may be mere line wrapping."""
    start = 0
    for gap in _GAP.finditer(text):
        yield from _lines_of_block(text, start, gap.end() if gap["tag"] else gap.start())
        start = gap.end()
    yield from _lines_of_block(text, start, len(text))


def _lines_of_block(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    breaks = [match.start() for match in _NEW_LINE.finditer(text, start, end)]
    lines = list(zip([start, *(place + 1 for place in breaks)], [*breaks, end], strict=True))
    width = max(last - first for first, last in lines)
    begin = start
    said = len(lines) > 1 and _is_dialogue(text, lines)
    for line, following in pairwise(lines):
        # A first line may stand out to the right; any other is indented further for what it belongs to.
        out = line[0] > start and _indent(text, line) > _indent(text, following)
        if out or (said and _said_at(text, following)) or _breaks(text, line, following, width):
            yield begin, line[1]
            begin = following[0]
    yield begin, end


def _indent(text: str, line: tuple[int, int]) -> int:
    part = text[line[0] : min(line[1], line[0] + 80)]
    return len(part) - len(part.lstrip())


def _is_dialogue(text: str, lines: Sequence[tuple[int, int]]) -> bool:
    """Whether half of the lines, and two at least, begin with who says them."""
    count = sum(_said_at(text, line) for line in lines)
    return count > 1 and 2 * count >= len(lines)


def _said_at(text: str, line: tuple[int, int]) -> bool:
    return _SAID.match(text[line[0] : min(line[1], line[0] + 120)].lstrip()) is not None


def _breaks(text: str, line: tuple[int, int], following: tuple[int, int], width: int) -> bool:
    """Whether the line end between two lines was meant."""
    above = text[line[0] : line[1]].strip()
    below = text[following[0] : min(following[1], following[0] + 120)].strip()
    if not above or not below:
        return True
    if above[0] == below[0] == ">" and not above.startswith(">>>"):
        # A quotation that is wrapped.
        above, below = above.lstrip("> "), below.lstrip("> ")
        if not above or not below:
            return True
    if _STRUCTURE.match(below) or _ITEM.match(below) or below[0] == ">":
        return True
    if _STRUCTURE.match(above) and not _ADMONITION.match(above):
        return True
    if _goes_on(above, below):
        return False
    if _indent(text, following) > _indent(text, line) + 1 and above[-1] not in _ENDING:
        # A term and what it means.
        return False
    if _LABEL.match(below):
        return True
    last = above.rsplit(None, 1)[-1]
    if last.endswith(".") and last[:-1].strip(_OPENERS).casefold() in TITLES:
        return False
    first_word = below.split(None, 1)[0]
    return len(above) + 1 + len(first_word) + max(8, width // 10) < width


def _goes_on(above: str, below: str) -> bool:
    """Whether a line goes on in the next by their words alone."""
    if below[0].islower() or _CONTINUES.search(above):
        return True
    return below[0] in _MARKED and len(above) >= _WRAPPED and above[-1].islower()


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int, *, lower: bool) -> bool:
    marks = stop[0]
    if marks[0] in _EAST_ASIAN:
        return True
    following = _NEXT.match(text, stop.end(), min(end, stop.end() + 120))
    code = following is not None and following["code"] is not None
    word = (following["word"] if following else None) or ""
    dot = marks[0] == "." and not marks.startswith("..")
    before = _WORD_BEFORE.search(text, max(begin, stop.start() - 40), stop.start())
    bare = before[0].lstrip(_OPENERS) if before else ""
    if word and word[0].islower():
        if not lower:
            return dot and not marks.endswith(_QUOTED) and _is_whole_word(bare)
        if not dot:
            return not marks.startswith("..") and not marks.endswith(_QUOTED)
        word = word if word in STARTERS or len(bare.strip(_OPENERS + ")]")) < _SHORT else word.capitalize()
    if not dot:
        return True
    if _ITEM_NUMBER.match(bare) and not text[begin : min(stop.start() - len(bare), begin + 9)].strip(
        _OPENERS + " \t\n"
    ):
        return False
    # A closing quotation mark or bracket after the stop leaves no doubt, save after initials.
    closed = len(marks) > 1 and not marks.endswith(("*", ">", "`"))
    return _stop_after(bare, word, closed, last=not word and not code and _nothing_after(text, stop, end))


def _nothing_after(text: str, stop: re.Match[str], end: int) -> bool:
    """Whether no letter or digit follows on the same line, or near it."""
    return not any(map(str.isalnum, text[stop.end() : min(end, stop.end() + 120)]))


def _is_whole_word(bare: str) -> bool:
    folded = bare.casefold()
    return _WHOLE_WORD.search(bare) is not None and not any(
        folded in listed for listed in (INSIDE, EITHER, TITLES, BEFORE_NUMBERS)
    )


def _stop_after(bare: str, following: str, closed: bool, *, last: bool) -> bool:
    """Whether a full stop after ``bare`` ends a sentence when the word ``following`` comes next.

    ``last``: nothing comes next.
    """
    folded = bare.casefold()
    starts = following.casefold() in STARTERS
    if folded in BEFORE_NUMBERS and following[:1].isdigit():
        return False
    if _CAPITAL.match(bare) or _DOTTED.search(bare) or folded in EITHER:
        if folded in INSIDE:
            return False
        return starts or (closed and not _CAPITAL.match(bare)) or last
    if folded in TITLES:
        return folded in ("st", "sr", "ft", "dept") and starts
    if folded in INSIDE:
        return folded == "al" and starts
    return True
