"""Which words of a text may be marked: whole words of its prose, outside links, addresses, code and tags."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property

from graphrag_dagster.kernel.text.markup_spans import TEMPLATE_TAG, Span

_QUOTED = r"\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)"
#: What is no prose: what is left open (a sentence may be cut from it) reaches to the end.
_HIDDEN = re.compile(
    "|".join(
        (
            r"^[ \t]*(?P<fence>`{3,}|~{3,})(?:.*?^[ \t]*(?P=fence)|.*)",
            r"(?P<ticks>`+)(?!`)(?:.*?(?<!`)(?P=ticks)(?!`)|.*)",
            TEMPLATE_TAG,
            r"<!--.*?(?:-->|\Z)",
            r"<(?P<tag>a|code|pre|kbd|samp|tt|script|style)\b.*?(?:</(?P=tag)\s*>|\Z)",
            rf"<[A-Za-z/!?](?:{_QUOTED}|[^<>\"'])*+(?:>|\Z)",
            r"(?:[A-Za-z][A-Za-z0-9+.-]{1,30}://|\bwww\.|\bmailto:)[^\s<>]+",
            r"[\w.+-]{1,100}@[\w-]{1,100}(?:\.[\w-]{1,100})+",
            r"(?<=\])\((?:[^()]|\([^()]*\))*(?:\)|\Z)",
            r"(?<=\])\[[^\[\]]*\]",
            r"^ {0,3}\[[^\[\]\n]{1,200}\]:[ \t][^\n]*",
        )
    ),
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
#: The words of links of Markdown, AsciiDoc and wikis.
_BRACKETS = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]")
_DELIMITERS = re.compile(r"[*_`~|\\<>\[\]]")
_JOINED_BEFORE = re.compile(r"(?:[^\W_]+[-‐‑'’])+\Z")
_JOINED_AFTER = re.compile(r"(?:[-‐‑'’][^\W_]+)+")
_JOINED_REACH = 80
#: What makes one word, number or address of the characters on either side of it.
_JOINING = frozenset("-‐‑'’./\\@:#%&=+~$£€?!,;")
_OPEN_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


class MarkupSpans:
    """Tells which characters of a text in Markdown, HTML or a wiki's markup are words of its prose."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _hidden(self) -> list[tuple[int, int]]:
        return [found.span() for found in _HIDDEN.finditer(self._text)]

    @cached_property
    def _linked(self) -> list[tuple[int, int]]:
        return [found.span() for found in _BRACKETS.finditer(self._text)]

    def hidden(self, span: Span) -> bool:
        """Return whether any of the characters is of code, an address, a tag or the target of a link."""
        return any(start < span.end and span.start < end for start, end in self._hidden)

    def whole_words(self, span: Span) -> Span | None:
        """Return the whole words that a span touches; None where they are no prose, or of a link.

        A span grows over what a hyphen or an apostrophe joins to it; one that cuts a word, a number or an
        address in any other way is none.
        """
        text, start, end = self._text, span.start, span.end
        if text[start : start + 1].isalnum() and (
            before := _JOINED_BEFORE.search(text, max(0, start - _JOINED_REACH), start)
        ):
            start = before.start()
        if text[end - 1 : end].isalnum() and (after := _JOINED_AFTER.match(text, end)):
            end = after.end()
        if self._joined(start - 1, -1) or self._joined(end, 1) or _DELIMITERS.search(text, start, end):
            return None
        whole = Span(start, end)
        linked = any(begin < end and start < last for begin, last in self._linked)
        return None if linked or self.hidden(whole) else whole

    def _joined(self, place: int, step: int) -> bool:
        """Whether a character beside a span goes on with the word that the span ends in."""
        return self._in_word(place) or (
            0 <= place < len(self._text) and self._text[place] in _JOINING and self._in_word(place + step)
        )

    def _in_word(self, place: int) -> bool:
        if not 0 <= place < len(self._text):
            return False
        char = self._text[place]
        return char.isalnum() or char == "_" or unicodedata.category(char) in {"Mn", "Mc", "Me", "Cf"}


def in_bold(text: str, marks: Sequence[Span]) -> str:
    """Return a text of Markdown with marks in bold; those that Markdown would read otherwise are not drawn.

    Without the asterisks that are added it is the same text.

    Args:
        text: of Markdown.
        marks: in order, none inside of another.
    """
    pieces, end = [], 0
    for mark in marks:
        first = text.rfind("\n\n", 0, mark.start) + 2 if "\n\n" in text[: mark.start] else 0
        paragraph = text[first:].partition("\n\n")[0]
        own = Span(mark.start - first, mark.end - first)
        if (
            "*" in paragraph
            or _OPEN_FENCE.search(text, 0, mark.start)
            or MarkupSpans(paragraph).whole_words(own) != own
        ):
            continue
        pieces += [text[end : mark.start], f"**{text[mark.start : mark.end]}**"]
        end = mark.end
    return "".join([*pieces, text[end:]])
