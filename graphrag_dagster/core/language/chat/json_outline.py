"""Where a JSON value in a text ends, told by its brackets alone, so that one without an end is never closed.

Strings, escapes and comments are known, so that no bracket inside them counts. Damage that leaves the
brackets whole is borne: single and curly quotes, quotes that should be escaped, commas too many or too few.
"""

import re
from dataclasses import dataclass

_MARK = re.compile(r"[{}\[\]\"'“#]|//|/\*")
_OPENED_BY = {"}": "{", "]": "["}
_CLOSED_BY = {'"': '"', "'": "'", "“": "”"}
_IN_STRING = {begin: re.compile(rf"\\.|{end}", re.DOTALL) for begin, end in _CLOSED_BY.items()}
#: What follows a string; any other quote inside one was left unescaped.
_AFTER_STRING = re.compile(r"\s*(?:[,:}\]]|//|/\*|\Z)")
_BEFORE_STRING = frozenset("{[,:")
_BEFORE_COMMENT = frozenset("\n{[,")


class Broken(ValueError):
    """Raised where a value has no end, or brackets that do not match; the text says which."""


class Unfinished(Broken):
    """Raised where a value has no end: the text that holds it was cut off."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A value: one past its last character, how deep it is nested, its text without comments.

    ``commented``: it had some.
    """

    end: int
    depth: int
    text: str
    commented: bool


def outline(text: str, start: int) -> Outline:
    """Return the outline of the value whose bracket is at ``start``; in one pass over the text.

    Raises:
        Unfinished: it ends before it is complete.
        Broken: a bracket is closed by one of another kind.
    """
    opened: list[str] = []
    parts: list[str] = []
    deepest, at, kept = 0, start, start
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark[0] in "{[":
            opened.append(mark[0])
            deepest = max(deepest, len(opened))
        elif mark[0] in "}]":
            if opened.pop() != _OPENED_BY[mark[0]]:
                raise Broken("the brackets of the JSON do not match")
            if not opened:
                return Outline(at, deepest, "".join([*parts, text[kept:at]]), bool(parts))
        elif mark[0] in _CLOSED_BY:
            if mark[0] == '"' or _before(text, mark.start()) in _BEFORE_STRING:
                at = _end_of_string(text, at, mark[0])
        elif (at := _end_of_comment(text, mark)) > mark.end():
            parts.append(text[kept : mark.start()])
            kept = at
    raise Unfinished("the JSON of the reply ends before it is complete")


def _end_of_string(text: str, at: int, begin: str) -> int:
    for mark in _IN_STRING[begin].finditer(text, at):
        if mark[0] == _CLOSED_BY[begin] and _AFTER_STRING.match(text, mark.end()):
            return mark.end()
    return len(text)


def _end_of_comment(text: str, mark: re.Match[str]) -> int:
    """One past a comment; the end of the mark where it begins none, as in an unquoted ``#1``."""
    if mark[0] == "#" and _before(text, mark.start(), " \t") not in _BEFORE_COMMENT:
        return mark.end()
    closing = "*/" if mark[0] == "/*" else "\n"
    found = text.find(closing, mark.end())
    return len(text) if found < 0 else found + len(closing)


def _before(text: str, place: int, blank: str = " \t\r\n") -> str:
    place -= 1
    while place >= 0 and text[place] in blank:
        place -= 1
    return text[place] if place >= 0 else ""
