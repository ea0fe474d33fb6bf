"""Glob patterns over the paths of a corpus."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

_IN_PART = "[^/]*"


def matches(path: str, pattern: str) -> bool:
    """Whether a path below the corpus folder (forward slashes) is meant by the pattern.

    A pattern without a slash is matched against every part of the path, so ``*.log`` and ``drafts`` hold at
    any depth. A pattern with a slash is anchored at the corpus folder; ``*`` and ``?`` stay within one part,
    ``**`` spans any number of parts. A pattern that matches a folder matches everything below it.
    """
    anchored = "/" in pattern.strip("/") or pattern.startswith("/")
    wanted = _compiled(pattern.strip("/"))
    parts = path.split("/")
    if not anchored:
        return any(wanted.fullmatch(part) for part in parts)
    return any(wanted.fullmatch("/".join(parts[:depth])) for depth in range(1, len(parts) + 1))


def first_match(path: str, patterns: Sequence[str]) -> str | None:
    """Return the first pattern that matches the path, or None."""
    return next((pattern for pattern in patterns if matches(path, pattern)), None)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A wildcard takes what is nearest, once and for all, where the next one can take whatever is left.

    Tried in all ways, a few wildcards would take hours over a long name.
    """
    translated = wild = fixed = text = ""
    for place, (piece, said) in enumerate(pieces := list(_pieces(pattern))):
        if not said.startswith("*"):
            fixed, text = fixed + piece, text + said
            continue
        nearest = wild and _takes_the_rest(pieces[place][1], wild, text)
        translated += f"(?>{wild}?{fixed})" if nearest else wild + fixed
        wild, fixed, text = piece, "", ""
    return re.compile(translated + wild + fixed, re.DOTALL)


def _takes_the_rest(following: str, wild: str, between: str) -> bool:
    """Whether what a wildcard leaves after the text up to the next one can be taken by that next one."""
    if following == "**/":
        return between.endswith("/")
    return following == "**" or (wild == _IN_PART and "/" not in between)


def _pieces(pattern: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(pattern):
        piece, after = _piece(pattern, position)
        yield piece, pattern[position:after]
        position = after


def _piece(pattern: str, start: int) -> tuple[str, int]:
    if pattern.startswith("**/", start):
        return "(?:[^/]+/)*", start + 3
    if pattern.startswith("**", start):
        return ".*", start + 2
    if pattern[start] == "*":
        return _IN_PART, start + 1
    if pattern[start] == "?":
        return "[^/]", start + 1
    closing = pattern.find("]", start + 2) if pattern[start] == "[" else -1
    if closing > 0:
        choice = _choice(pattern[start + 1 : closing])
        if choice:
            return choice, closing + 1
    return re.escape(pattern[start]), start + 1


def _choice(inner: str) -> str | None:
    """One character of those between brackets, ``!`` first for none of them; None if they make no sense."""
    negated = inner.startswith("!") and len(inner) > 1
    body = re.sub(r"[^\w-]|(?<!\w)-|-(?!\w)", lambda found: f"\\{found[0]}", inner[negated:])
    try:
        re.compile(f"[{body}]")
    except re.error:
        return None
    return f"(?!/)[{'^' if negated else ''}{body}]"
