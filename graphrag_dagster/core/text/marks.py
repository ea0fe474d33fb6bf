"""Marks of Markdown, reStructuredText, HTML and templates: where they stand, and the words without them."""

import html
import re
from collections.abc import Iterator

from graphrag_dagster.core.text.spans import Span

#: Tags of Hugo, Jinja, Liquid and Handlebars, which are no words of a text.
TEMPLATE_TAG = (
    r"\{\{[<%-]?[^{}\n]{0,400}\}\}|\{%(?:[^%\n]|%(?!\})){0,400}+%\}|\{\#(?:[^#\n]|\#(?!\})){0,400}+\#\}"
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
#: The line that a block of code of reStructuredText follows, and the code: all that is indented further.
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
    """Return how many characters of marks stand before the words of a sentence.

    These are bullets, numbers of any level, boxes of tasks, ``>``, ``#``, ``|``, the colon of a definition,
    marks of footnotes and directives, tags of HTML and of templates. A text of marks alone is all marks.

    >>> mark_before("3. The board met."), mark_before("- [x] **Done** today.")
    (3, 6)
    """
    if text[:1].isupper():
        return 0
    found = _BEFORE.match(text)
    return found.end() if found else 0


def mark_behind(text: str) -> int:
    """Return how many characters of marks stand behind the words: ``|``, ``#``, closing and template tags."""
    if text[-1:] not in _BEHIND_LAST:
        return 0
    found = _BEHIND.search(text, max(0, len(text) - _BEHIND_REACH))
    return len(text) - found.start() if found else 0


def time_before(text: str) -> int:
    """Return how many characters of a time stamp stand before what was said then.

    >>> time_before("[00:12] the roof leaks")
    8
    """
    found = _TIME.match(text) if text[:1] in _TIME_FIRST else None
    return found.end() if found else 0


def undivided(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the parts of a text in which no sentence ends: links, code, addresses and tags, in order."""
    if _MAY_HOLD.search(text, start, end):
        for found in _INSIDE.finditer(text, start, end):
            yield Span(*found.span())


def code_blocks(text: str) -> list[Span]:
    """Return where blocks of code stand: fenced ones, and those that ``::`` or a directive begins."""
    found = list(_fenced(text)) if "```" in text or "~~~" in text else []
    if "::" in text:
        found += [Span(*one.span("code")) for one in _LITERAL.finditer(text)]
    return found


def _fenced(text: str) -> Iterator[Span]:
    """Yield blocks between fences; one of tildes begins a paragraph, since else it underlines a heading."""
    start, mark = 0, ""
    for fence in _FENCE.finditer(text):
        if mark:
            if fence["mark"].startswith(mark) and not fence["told"].strip():
                yield Span(start, fence.end())
                mark = ""
        elif fence["mark"][0] == "`" or text[max(fence.start() - 2, 0) : fence.start()] in ("", "\n\n"):
            start, mark = fence.start(), fence["mark"]
    if mark.startswith("`"):
        yield Span(start, len(text))


def as_read(text: str) -> str:
    """Return the words of a sentence without its inner marks, with single blanks; code is one name.

    >>> as_read("**Note:** use `pip -U`, see [the docs](https://a.example/b).")
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


def _words(found: re.Match[str]) -> str:
    said = found["role"] or found["rst"] or found["link"]
    if said:
        # Pictures in links, and code in either.
        return as_read(said) if said != found[0] else said
    if found["fence"]:
        return "Code"
    return found[0] if "://" in found[0][:8] else ""
