"""Rule-based sentence splitting."""

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
    undivided_spans,
)

_CLOSERS = "\"'”’»›)\\]}*_`"
_OPENERS = "\"'“‘«‹([{*_¿¡—–-"
#: First characters of code, a link or emphasis; and characters of a line from which it may be wrapped.
_MARKED, _WRAPPED = frozenset("`[:*_<("), 40
_ENDING = frozenset(".!?…:;。！？؟।")
_EAST_ASIAN = "。！？｡"
_QUOTED = ('"', "'", "”", "’", "»", "›")
#: Length of a word before a stop from which it is no abbreviation, in text without capitals.
_SHORT = 3
_STOPS = ".!?…؟۔।॥։።"
# Begins with a set of characters, which is looked for several times as fast as what a place must not follow.
# Possessive, and not inside a run of stops, which keeps the time linear for any text.
_STOP = re.compile(
    rf"[{_EAST_ASIAN}{_STOPS}](?:"
    rf"(?<=[{_EAST_ASIAN}])(?<![{_EAST_ASIAN}].)[{_EAST_ASIAN}]*+[」』）】》〉”’\"']*+"
    rf"|(?<=[{_STOPS}])(?<![{_STOPS}].)[{_STOPS}]*+[{_CLOSERS}]*+(?:(?<=\])\([^()\s]{{1,1000}}\)[{_CLOSERS}]*+)?"
    r"(?:</[A-Za-z][A-Za-z0-9]{0,20}>){0,5}(?:\[\d+(?:[,–-]\s?\d+)*\]_?|\[\^[\w-]{1,40}\])*(?=\s|\Z|<))"
)
_NEXT = re.compile(
    rf"\s*(?:<[^<>]{{1,80}}>\s*|{TEMPLATE_TAG})*[{re.escape(_OPENERS)}]*\s?"
    r"(?:(?P<code>`|:[\w:-]{1,40}:`)|&\#?\w{1,8};|(?P<word>[^\W_]+(?:['’][^\W_]+)?))?"
)
#: Ends of paragraphs; a closing HTML tag belongs to the paragraph.
_GAP = re.compile(
    r"[\n\f<](?:(?<=\n)[ \t\f\v]*(?:\n[ \t\f\v]*)+|(?<=\f)"
    r"|(?<=<)(?P<tag>br\s?/?>|/(?:p|li|tr|td|th|h[1-6]|div|dt|dd|summary|blockquote|option|button)>))",
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
#: A directive whose text begins on the same line and may be wrapped.
_ADMONITION = re.compile(
    r"\.\.\s(?:note|warning|tip|hint|important|caution|danger|attention|error|seealso|deprecated|version\w+)::\s+\S"
)
#: A line of a chat, transcript or form, with any case of the name.
_SAID = re.compile(
    r"(?:[\[(]?\d{1,2}:\d{2}[^\s\])]{0,12}[\])]?\s*[-–—]?\s*)?"
    r"(?:<@?[\w.' -]{1,40}>|@?[^\W\d_][\w.'’-]{0,30}(?:\s[\w.'’-]{1,20}){0,2}(?:\s\([^()]{1,40}\))?:)"
    r"(?:\s|\Z)"
)
#: A lower-case word before a stop, which cannot be an abbreviation.
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
    """Return the sentences of a text in order, without surrounding white space.

    Every character that is not white space is in exactly one span. Boundaries are blank lines, headings, list
    items and table rows, and a line end before a label such as ``Chair:`` or if the next word would have fit
    on the line. Other line ends, abbreviations, initials and decimals are not boundaries, nor is anything
    inside a link, code, a URL or a tag. A stop before a lower-case letter is one in text without capitals, or
    after a whole word. East Asian stops always are. Long runs of words without punctuation are cut at line
    ends, pauses or joining words.
    """
    spans: list[Span] = []
    for start, end in _blocks(text):
        position = start
        whole = list(undivided_spans(text, start, end))
        span_starts = [span.start for span in whole]
        no_capitals = None
        for stop in _STOP.finditer(text, start, end):
            if stop.end() >= end:
                break
            if _is_inside(stop.start(), stop.end(), whole, span_starts):
                continue
            if no_capitals is None:
                no_capitals = _without_capitals(text, start, end)
            if _ends_sentence(text, position, stop, end, lower=no_capitals):
                spans += pieces(text, position, stop.end())
                position = stop.end()
        spans += pieces(text, position, end)
    stripped = (_strip(text, span.start, span.end) for span in spans)
    return [span for span in stripped if span.start < span.end]


def _is_inside(start: int, end: int, spans: Sequence[Span], starts: Sequence[int]) -> bool:
    index = bisect_right(starts, start) - 1
    # A stop that belongs to the span it ends, such as a tag, is not inside of it.
    return index >= 0 and end < spans[index].end and start > spans[index].start


def _without_capitals(text: str, start: int, end: int) -> bool:
    """Return whether sentences begin with lower-case letters here."""
    first = _FIRST_LETTER.search(text, start, end)
    if first is None or not first[0].islower():
        return False
    lower = sum(1 for _ in _LOWER_BEGINS.finditer(text, start, end))
    upper = sum(1 for _ in _UPPER_BEGINS.finditer(text, start, end))
    return lower >= 2 * upper


def _strip(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return Span(start + len(part) - len(part.lstrip()), start + len(part.rstrip()))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield ranges within which line ends may be mere wrapping."""
    start = 0
    for gap in _GAP.finditer(text):
        yield from _lines_of_block(text, start, gap.end() if gap["tag"] else gap.start())
        start = gap.end()
    yield from _lines_of_block(text, start, len(text))


def _lines_of_block(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    breaks = [match.start() for match in _NEW_LINE.finditer(text, start, end)]
    lines = list(zip([start, *(position + 1 for position in breaks)], [*breaks, end], strict=True))
    width = max(last - first for first, last in lines)
    block_start = start
    is_dialogue = len(lines) > 1 and _is_dialogue(text, lines)
    for line, following in pairwise(lines):
        # The first line may be indented as the start of a paragraph; any other indentation is structure.
        is_outdented = line[0] > start and _indent(text, line) > _indent(text, following)
        if (
            is_outdented
            or (is_dialogue and _is_speech_at(text, following))
            or _is_meant_break(text, line, following, width)
        ):
            yield block_start, line[1]
            block_start = following[0]
    yield block_start, end


def _indent(text: str, line: tuple[int, int]) -> int:
    part = text[line[0] : min(line[1], line[0] + 80)]
    return len(part) - len(part.lstrip())


def _is_dialogue(text: str, lines: Sequence[tuple[int, int]]) -> bool:
    """Return whether at least half of the lines, and at least two, begin with a speaker."""
    count = sum(_is_speech_at(text, line) for line in lines)
    return count > 1 and 2 * count >= len(lines)


def _is_speech_at(text: str, line: tuple[int, int]) -> bool:
    return _SAID.match(text[line[0] : min(line[1], line[0] + 120)].lstrip()) is not None


def _is_meant_break(text: str, line: tuple[int, int], following: tuple[int, int], width: int) -> bool:
    """Return whether the line end between two lines is intended."""
    above = text[line[0] : line[1]].strip()
    below = text[following[0] : min(following[1], following[0] + 120)].strip()
    if not above or not below:
        return True
    if above[0] == below[0] == ">" and not above.startswith(">>>"):
        # A wrapped quotation.
        above, below = above.lstrip("> "), below.lstrip("> ")
        if not above or not below:
            return True
    if _STRUCTURE.match(below) or _ITEM.match(below) or below[0] == ">":
        return True
    if _STRUCTURE.match(above) and not _ADMONITION.match(above):
        return True
    if _continues(above, below):
        return False
    if _indent(text, following) > _indent(text, line) + 1 and above[-1] not in _ENDING:
        # A term and its definition.
        return False
    if _LABEL.match(below):
        return True
    last = above.rsplit(None, 1)[-1]
    if last.endswith(".") and last[:-1].strip(_OPENERS).casefold() in TITLES:
        return False
    first_word = below.split(None, 1)[0]
    return len(above) + 1 + len(first_word) + max(8, width // 10) < width


def _continues(above: str, below: str) -> bool:
    """Return whether a line continues in the next, judging by their words alone."""
    if below[0].islower() or _CONTINUES.search(above):
        return True
    return below[0] in _MARKED and len(above) >= _WRAPPED and above[-1].islower()


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int, *, lower: bool) -> bool:
    marks = stop[0]
    if marks[0] in _EAST_ASIAN:
        return True
    following = _NEXT.match(text, stop.end(), min(end, stop.end() + 120))
    is_code = following is not None and following["code"] is not None
    word = (following["word"] if following else None) or ""
    is_full_stop = marks[0] == "." and not marks.startswith("..")
    before = text[max(begin, stop.start() - 40) : stop.start()]
    # With the stop, so that white space before it leaves no word.
    last_word = f"{before}.".split()[-1][:-1].lstrip(_OPENERS)
    if word and word[0].islower():
        if not lower:
            return is_full_stop and not marks.endswith(_QUOTED) and _is_whole_word(last_word)
        if not is_full_stop:
            return not marks.startswith("..") and not marks.endswith(_QUOTED)
        word = (
            word if word in STARTERS or len(last_word.strip(_OPENERS + ")]")) < _SHORT else word.capitalize()
        )
    if not is_full_stop:
        return True
    if _ITEM_NUMBER.match(last_word) and not text[
        begin : min(stop.start() - len(last_word), begin + 9)
    ].strip(_OPENERS + " \t\n"):
        return False
    # A closing quotation mark or bracket after the stop decides, except after initials.
    closed = len(marks) > 1 and not marks.endswith(("*", ">", "`"))
    return _ends_at_stop(
        last_word, word, closed, last=not word and not is_code and _nothing_after(text, stop, end)
    )


def _nothing_after(text: str, stop: re.Match[str], end: int) -> bool:
    """Return whether no letter or digit follows nearby."""
    return not any(map(str.isalnum, text[stop.end() : min(end, stop.end() + 120)]))


def _is_whole_word(bare: str) -> bool:
    folded = bare.casefold()
    return _WHOLE_WORD.search(bare) is not None and not any(
        folded in listed for listed in (INSIDE, EITHER, TITLES, BEFORE_NUMBERS)
    )


def _ends_at_stop(bare: str, following: str, closed: bool, *, last: bool) -> bool:
    """Return whether a full stop after ``bare`` ends a sentence if the word ``following`` comes next.

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
