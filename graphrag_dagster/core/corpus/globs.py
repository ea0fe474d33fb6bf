"""Glob patterns over the paths of a corpus."""

import re
from collections.abc import Sequence
from functools import lru_cache


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
    translated = ""
    position = 0
    while position < len(pattern):
        piece, position = _piece(pattern, position)
        translated += piece
    return re.compile(translated, re.DOTALL)


def _piece(pattern: str, start: int) -> tuple[str, int]:
    if pattern.startswith("**/", start):
        return "(?:[^/]+/)*", start + 3
    if pattern.startswith("**", start):
        return ".*", start + 2
    if pattern[start] == "*":
        return "[^/]*", start + 1
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
