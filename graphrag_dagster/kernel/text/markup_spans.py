"""Spans of a text, and the markup of Markdown, reStructuredText, HTML and templates in it."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from graphrag_dagster.kernel.text.english_words import word_set


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of characters in a text unit: ``text[start:end]``."""

    start: int
    end: int


_KINDS = ("'’‘`´", '"“”„«»', "-‐‑‒–—")
#: Turkish has dotted and dotless variants of a letter; capitalised names often have neither.
_ONE_LETTER = {"İ": "i", "ı": "i"}
_BLANKS = re.compile(" {2,}")


class AlikeText:
    """A text in which similar characters are normalised.

    Each character maps to one character, so that positions are preserved, except that runs of white space
    become one blank.
    """

    def __init__(self, text: str) -> None:
        folded = text.translate(_ALIKE)
        pieces, end = [], 0
        self._from, self._dropped = [0], [0]
        for blanks in _BLANKS.finditer(folded):
            pieces.append(folded[end : blanks.start() + 1])
            self._from.append(blanks.start() + 1 - self._dropped[-1])
            self._dropped.append(self._dropped[-1] + len(blanks[0]) - 1)
            end = blanks.end()
        self._text = "".join([*pieces, folded[end:]])

    def places(self, words: str, *, whole: bool) -> Iterator[Span]:
        """Yield the spans of words in order, without overlaps.

        Args:
            words: to find; a blank text yields nothing.
            whole: only match at word boundaries, with the underscore as a word character.
        """
        wanted = " ".join(words.split()).translate(_ALIKE)
        start = self._text.find(wanted) if wanted else -1
        while start >= 0:
            end = start + len(wanted)
            matches = not (whole and (self._in_word(start - 1) or self._in_word(end)))
            if matches:
                yield Span(self._original(start), self._original(end - 1) + 1)
            start = self._text.find(wanted, end if matches else start + 1)

    def _in_word(self, place: int) -> bool:
        char = self._text[place : place + 1] if place >= 0 else ""
        return char == "_" or char.isalnum()

    def _original(self, place: int) -> int:
        return place + self._dropped[bisect_right(self._from, place) - 1]


class _Alike(dict[int, str]):
    """Normalised form of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        normalised = self[code] = _normalised_character(chr(code))
        return normalised


def _normalised_character(char: str) -> str:
    if char.isspace():
        return " "
    for kind in _KINDS:
        if char in kind:
            return kind[0]
    # Only single characters, since some fold into two.
    forms = (_ONE_LETTER.get(char, char.casefold()), char.lower(), char)
    return next(form for form in forms if len(form) == 1)


_ALIKE = _Alike()


#: Come before a name: the sentence continues.
TITLES = word_set(
    """
    mr mrs ms mx dr prof rev fr sr st ste hon gen col maj capt lt sgt cpl cmdr cdr adm gov sen rep pres
    supt insp det messrs mme mlle m mgr msgr amb atty asst assoc dept mt ft
    """
)
#: Come before a number: the sentence continues only if one follows.
BEFORE_NUMBERS = word_set(
    """
    no nos nr vol vols fig figs sec secs ch chap art arts p pp para paras eq eqs ref refs tab app ed eds
    pt pts col cols lot ll jan feb mar apr jun jul aug sep sept oct nov dec cl reg regs sch ver
    """
)
#: Come before more of the same sentence.
INSIDE = word_set(
    """
    e.g eg i.e ie viz cf vs v ca c approx incl excl esp resp namely a.k.a aka al
    """
)
#: May end a sentence: it ends if a word that begins sentences follows.
EITHER = word_set(
    """
    inc ltd co corp bros plc llc jr sr esq etc st ave rd blvd dept univ est ext tel govt intl natl assn
    mon tue tues wed thu thur thurs fri sat sun ph.d phd m.d md b.a ba m.a ma b.sc m.sc bsc msc d.phil
    a.m p.m am pm a.d b.c ad bc hrs min mins sec secs km kg cm mm lb lbs oz ft in yd mi
    """
)
#: Words that often begin a sentence and are seldom part of a name.
STARTERS = word_set(
    """
    a about after all also although among an and another any are as asked at because before both but by
    can could despite did do does during each either even every everyone few first for from further had
    has have he hence her here his how however i if in indeed instead is it its just last later like
    many maybe meanwhile more moreover most much my neither never nevertheless next no nobody none nor
    not nothing now of often on once one only or other others our over perhaps rather she should since
    so some somebody someone sometimes soon still such than that the their them then there therefore
    these they this those though through thus to today together tomorrow too two under unless until upon
    was we were what whatever when whenever where whether which while who whoever whose why will with
    within without would yes yesterday yet you your
    """
)


#: Tags of Hugo, Jinja, Liquid and Handlebars. In Python 3.11.2 a possessive group that looks ahead fails.
TEMPLATE_TAG = (
    r"\{\{[<%-]?[^{}\n]{0,400}\}\}|\{%[^%\n]{0,400}+(?:%(?!\})[^%\n]{0,400}+){0,40}%\}"
    r"|\{\#[^#\n]{0,400}+(?:\#(?!\})[^#\n]{0,400}+){0,40}\#\}"
)
_COMMENT = r"<!--[^<]{0,2000}?-->"
_TAG = r"</?[A-Za-z][A-Za-z0-9-]{0,30}(?:\s[^<>]{0,400})?/?>"
_URL = r"(?:https?|ftp)://[^\s<>\"]{1,2000}"
_TARGET = r"\([^()\s]{0,1000}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?(?:\s\"[^\"\n]{0,200}\")?\)"
_LINK = rf"!?\[(?P<link>(?:[^\[\]]|\[[^\[\]]{{0,100}}\]){{0,400}})\](?:{_TARGET}|\[[^\[\]]{{0,100}}\])"
_CODE = r"(?P<fence>`{1,3})(?!`)(?:[^`\n]|\n(?!\s*\n)){1,300}?(?P=fence)(?!`)"
_RST_LINK = r"`(?P<rst>[^`<>]{1,300})\s<[^`<>]{1,1000}>`_{1,2}"
_ROLE = r":[A-Za-z][\w:.+-]{0,40}:`(?P<role>[^`<>]{1,300}?)(?:\s<[^`<>]{0,300}>)?`"
_INSIDE = re.compile("|".join((_ROLE, _RST_LINK, _LINK, _CODE, _COMMENT, TEMPLATE_TAG, _TAG, _URL)))
_MAY_HOLD = re.compile(r"[`\[<]|\{[{%#]|://")

_NUMBER = (
    r"\(?(?:\d{1,3}|[a-z]|[ivxlc]{1,5})[.)](?=\s+[\"'“‘«(\[`*_<]*[^\W_])"
    r"|\d{1,3}(?:\.\d{1,3}){2,6}\.?(?=\s)|\d{1,3}\.\d{1,3}\.?(?=\s+[A-Z][a-z])|\#\.(?=\s)"
)
_BEFORE = re.compile(
    rf"(?:\s*(?:\#{{1,6}}(?=\s)|>{{1,2}}(?!>)(?=\s|[^\W_])|[-*+•‣◦▪●·–—](?=\s)|\[[ xX✓✔]\](?=\s)|{_NUMBER}"
    rf"|:(?=\s)|\|(?=\s|[^\W_])|\[\^[\w-]{{1,40}}\]:?|\.\.\s\[[\w#*-]{{1,40}}\]|\.\.\s[\w-]{{1,40}}::(?=\s)"
    rf"|{_COMMENT}|{TEMPLATE_TAG}|{_TAG}))*\s*"
)
_BEHIND = re.compile(
    rf"(?:\s*(?:\||\#{{1,6}}|{_COMMENT}|{TEMPLATE_TAG}|</[A-Za-z][A-Za-z0-9-]{{0,30}}>))+\s*\Z"
)
_BEHIND_REACH, _BEHIND_LAST = 500, frozenset("|#>} \n\t")
_FENCE = re.compile(r"^[ \t]*(?P<mark>```+|~~~+)(?P<told>[^\n`]*)$", re.MULTILINE)
#: The line that introduces a code block of reStructuredText, and the block: everything indented further.
_LITERAL = re.compile(
    r"^(?P<indent>[ \t]*+)(?:\.\.[ \t]+"
    r"(?:code(?:-block)?|sourcecode|literalinclude|raw|parsed-literal|prompt)::[^\n]*"
    r"|(?!\.\.[ \t])[^\n]*::)[ \t]*\n(?P<code>(?:[ \t]*\n|(?P=indent)[ \t]+[^\n]*(?:\n|\Z))+)",
    re.MULTILINE,
)
_REFERENCE = re.compile(r"\[(?:\^[\w-]{1,40}|\d{1,3}(?:[,–-]\s?\d{1,3}){0,10}|\#[\w-]{0,40})\]_?")
_EMPHASIS = re.compile(r"\*+|(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w)|~~|\\(?=[*_`\[\]#|<>.-])")
_TIME_FIRST = frozenset(" [(0123456789")
_EMPHASIS_MARK = re.compile(r"[*_~\\]")
_TIME = re.compile(
    r"\s*[\[(]?\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?\s?(?:[AaPp]\.?[Mm]\.?)?[\])]?"
    r"(?:\s*(?:-->|[–—-])\s*(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)?\s*[-–—]?\s+(?=\S)"
)


def mark_before(text: str) -> int:
    """Return the length of the markup before the words of a sentence.

    Markup includes bullets, numbers of any level, task boxes, ``>``, ``#``, ``|``, the colon of a definition,
    footnote marks, directives, and tags of HTML and templates. If there are no words, everything is markup.

    >>> mark_before("3. The board met."), mark_before("- [x] **Done** today.")
    (3, 6)
    """
    if text[:1].isupper():
        return 0
    match = _BEFORE.match(text)
    return match.end() if match else 0


def mark_behind(text: str) -> int:
    """Return the length of the markup after the words: ``|``, ``#``, closing and template tags."""
    if text[-1:] not in _BEHIND_LAST:
        return 0
    match = _BEHIND.search(text, max(0, len(text) - _BEHIND_REACH))
    return len(text) - match.start() if match else 0


def time_before(text: str) -> int:
    """Return the length of a time stamp before an utterance.

    >>> time_before("[00:12] the roof leaks")
    8
    """
    match = _TIME.match(text) if text[:1] in _TIME_FIRST else None
    return match.end() if match else 0


def undivided_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the spans that contain no sentence boundary, in order: links, code, URLs and tags."""
    if _MAY_HOLD.search(text, start, end):
        for match in _INSIDE.finditer(text, start, end):
            yield Span(*match.span())


def code_blocks(text: str) -> list[Span]:
    """Return the spans of code blocks: fenced ones, and those after ``::`` or a directive."""
    blocks = list(_fenced_blocks(text)) if "```" in text or "~~~" in text else []
    if "::" in text:
        blocks += [Span(*match.span("code")) for match in _LITERAL.finditer(text)]
    return blocks


def _fenced_blocks(text: str) -> Iterator[Span]:
    """Yield fenced blocks; a fence of tildes must begin a paragraph, else it underlines a heading.

    A fence that names a language opens a block: where it would close one, the text begins inside another.
    """
    fences = list(_FENCE.finditer(text))
    named = next((at for at, fence in enumerate(fences) if fence["told"].strip()), 0)
    start, mark = 0, "```" if named % 2 else ""
    for fence in fences:
        if mark:
            if fence["mark"].startswith(mark) and not fence["told"].strip():
                yield Span(start, fence.end())
                mark = ""
        elif fence["mark"][0] == "`" or text[max(fence.start() - 2, 0) : fence.start()] in ("", "\n\n"):
            start, mark = fence.start(), fence["mark"]
    if mark.startswith("`"):
        yield Span(start, len(text))


def plain_text(text: str) -> str:
    """Return a sentence without inner markup and with single blanks; inline code becomes ``Code``.

    >>> plain_text("**Note:** use `pip -U`, see [the docs](https://a.example/b).")
    'Note: use Code, see the docs.'
    """
    if _MAY_HOLD.search(text):
        text = _INSIDE.sub(_words, text)
    if "[" in text:
        text = _REFERENCE.sub("", text)
    if _EMPHASIS_MARK.search(text):
        text = _EMPHASIS.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    return " ".join(text.split())


def _words(match: re.Match[str]) -> str:
    content = match["role"] or match["rst"] or match["link"]
    if content:
        # The content may be an image or code in turn.
        return plain_text(content) if content != match[0] else content
    if match["fence"]:
        return "Code"
    return match[0] if "://" in match[0][:8] else ""


#: Most words of a sentence that is never cut, and fewest words per mark for a sentence to be cut.
_LONG, _TO_A_MARK = 45, 40
#: Fewest words of a piece before a cut at a line end or pause, and at a joining word; and its most words.
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
    """Yield a sentence unchanged, or split it if it has too many words for its punctuation.

    A piece ends at a line end or pause once it has 10 words, and has at most 30 words. If there are no lines,
    it also ends before a joining word once it has 14 words. Only white space is between pieces.

    Args:
        text: that contains the sentence.
        start: of the sentence.
        end: one past its last character.
    """
    if end - start < _LONG_CHARACTERS:
        yield Span(start, end)
        return
    count = len(text[start:end].split())
    if (
        count <= _LONG
        or count < _TO_A_MARK * (1 + sum(1 for _ in _MARKS.finditer(text, start, end - 1)))
        or not _is_speech(text, start, end)
    ):
        yield Span(start, end)
        return
    words = list(_WORD.finditer(text, start, end))
    has_lines = len(words) <= _MOST * text.count("\n", start, end)
    piece_start, count, before = start, 0, start
    for word in words:
        pause = count >= _AT_PAUSE and _PAUSE.search(text, before, word.start()) is not None
        joins = not has_lines and count >= _AT_JOIN and word[0].lower() in _JOINING
        if count and (pause or joins or count == _MOST):
            yield Span(piece_start, word.start())
            piece_start, count = word.start(), 0
        count += 1
        before = word.end() - 1
    yield Span(piece_start, end)


def _is_speech(text: str, start: int, end: int) -> bool:
    """Whether nearly all characters are letters, unlike in a table or code."""
    part = text[start : min(end, start + 2_000)]
    return sum(map(str.isalpha, part)) > 0.9 * sum(not character.isspace() for character in part)
