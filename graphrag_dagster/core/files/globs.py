"""Glob patterns over the paths of a corpus."""

from collections.abc import Sequence
from fnmatch import fnmatchcase


def matches(path: str, pattern: str) -> bool:
    """Whether a path below the corpus folder (forward slashes) is meant by the pattern.

    A pattern without a slash is matched against every part of the path, so ``*.log`` and ``drafts`` hold at
    any depth. A pattern with a slash is anchored at the corpus folder; ``*``, ``?`` and ``[ab]`` stay within
    one part, a part ``**`` spans any number of them. A pattern that matches a folder matches everything below
    it.
    """
    parts = path.split("/")
    wanted = pattern.strip("/").split("/")
    if len(wanted) == 1 and not pattern.startswith("/"):
        return any(fnmatchcase(part, wanted[0]) for part in parts)
    # How many parts of the path the pattern so far may have taken; all at once, or many ** would take hours.
    taken = {0}
    for place, piece in enumerate(wanted, 1):
        if piece == "**":
            # At the end it means what is below, not the folder itself.
            taken = set(range(min(taken) + (place == len(wanted)), len(parts) + 1))
        else:
            taken = {at + 1 for at in taken if at < len(parts) and fnmatchcase(parts[at], piece)}
        if not taken:
            return False
    return True


def below(folder: str, pattern: str) -> str:
    """Return the pattern that means below a folder what the given one means below the corpus folder."""
    anchored = "/" in pattern.strip("/") or pattern.startswith("/")
    return f"/{folder}/{pattern.strip('/')}" if anchored else f"/{folder}/**/{pattern}"


def first_match(path: str, patterns: Sequence[str]) -> str | None:
    """Return the first pattern that matches the path, or None."""
    return next((pattern for pattern in patterns if matches(path, pattern)), None)
