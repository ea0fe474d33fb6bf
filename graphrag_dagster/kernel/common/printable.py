"""Texts and names that can be shown: escaped, unique, and errors of the operating system in one line."""

import errno
import json
import math
import os
import re
from collections.abc import Iterable
from typing import Any

# Control characters except newline and tab, bidirectional overrides, and surrogates.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


#: Characters that start a formula in spreadsheets (OWASP, CSV Injection).
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def printable(text: str) -> str:
    r"""Escape every character that could control a terminal: ``\x1b`` for ESC, ``\u202e`` for an override.

    Newlines and tabs are kept; CR LF becomes a newline.
    """
    return _UNSAFE.sub(_spell_out, text.replace("\r\n", "\n"))


def shorten(text: str, most: int) -> str:
    """Truncate a text to a number of characters on one line, with unprintable characters escaped."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in cut)


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Render a value as standard JSON that is safe to print on a terminal.

    Only the characters of :func:`printable` are escaped. Values without a JSON form become strings: dates and
    the like by ``str``, and NaN, Infinity and -Infinity by these names.
    """
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), indent=indent, ensure_ascii=False, default=str)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _spell_out(match: re.Match[str]) -> str:
    return _escape(ord(match[0]))


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> plural(1, "question"), plural(1250, "reply", "replies")
    ('1 question', '1,250 replies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_FIXES = {
    errno.EACCES: "fix its permissions, or those of its folder",
    errno.EPERM: "fix its permissions, or those of its folder",
    errno.ENOENT: "create it, or choose another location",
    errno.ENOTDIR: "part of its path is a file: move it away, or choose another location",
    errno.EISDIR: "a folder is in place of the file: move it away, or choose another location",
    errno.EEXIST: "something else is there: move it away, or choose another location",
    errno.ENAMETOOLONG: "use a shorter name or a shorter path",
    errno.EROFS: "the file system is read-only: set GRAPHRAG_DAGSTER_HOME to a writable folder",
    errno.ENOSPC: "the disk is full: free space, and run again",
    errno.EDQUOT: "your disk quota is used up: free space, and run again",
    errno.ELOOP: "symbolic links form a loop: fix them",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the limit of open files of this machine",
    errno.ESTALE: "the file server has lost it: remount its file system",
    errno.EIO: "the disk or the file server is failing: see the system's log",
    errno.EBUSY: "another process uses it: stop that process, and run again",
    errno.ENOMEM: "memory ran out: stop other processes, or use a larger machine",
}


def os_error_message(error: OSError) -> str:
    """Return an error message of one line that names the path, the problem and the fix."""
    why = (error.strerror or str(error) or type(error).__name__).splitlines()[0]
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    fix = _FIXES.get(error.errno or 0, "fix it, and run again")
    return f"{' and '.join(names) or 'this system'}: {why[:1].lower()}{why[1:]}; {fix}"


def make_unique(names: Iterable[str]) -> list[str]:
    """Return the names with a number after each that was there before: ``a``, ``a_2``, ``a_3``."""
    unique: dict[str, None] = {}
    counts: dict[str, int] = {}
    for wanted in names:
        candidate = wanted
        while candidate in unique:
            counts[wanted] = counts.get(wanted, 1) + 1
            candidate = f"{wanted}_{counts[wanted]}"
        unique[candidate] = None
    return list(unique)
