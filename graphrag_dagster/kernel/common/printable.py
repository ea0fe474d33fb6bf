"""Text from outside made safe to print, and errors of the operating system in one line."""

import errno
import json
import math
import os
import re
from typing import Any

# Control characters but newline and tab, what turns the direction of writing, and halves of characters.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


#: What spreadsheets take for the beginning of a formula (OWASP, CSV Injection).
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def printable(text: str) -> str:
    r"""Spell out every character that would command a terminal: ``\x1b`` for ESC, ``\u202e`` for an override.

    Newlines and tabs stay; CR LF becomes a newline.
    """
    return _UNSAFE.sub(_spelt, text.replace("\r\n", "\n"))


def shortened(text: str, most: int) -> str:
    """Return at most so many characters of a text on one line, with all that cannot be seen spelt out."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(one if one.isprintable() else _escape(ord(one)) for one in cut)


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Render a value as JSON that a terminal can be given, and that any reader of JSON can read.

    Other characters than those of :func:`printable` stay as they are. What JSON has no form for becomes a
    string: dates and the like as Python shows them, and NaN, Infinity and -Infinity by these names.
    """
    try:
        told = json.dumps(value, indent=indent, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        told = json.dumps(_finite(value), indent=indent, ensure_ascii=False, default=str)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", told)


def _spelt(found: re.Match[str]) -> str:
    return _escape(ord(found[0]))


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


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "question"), counted(1250, "reply", "replies")
    ('1 question', '1,250 replies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_MENDS = {
    errno.EACCES: "mend its rights, or those of the folder it is in",
    errno.EPERM: "mend its rights, or those of the folder it is in",
    errno.ENOENT: "make it, or name another place",
    errno.ENOTDIR: "a folder on the way is a file: move it away, or name another place",
    errno.EISDIR: "a folder is where a file should be: move it away, or name another place",
    errno.EEXIST: "something else is there: move it away, or name another place",
    errno.ENAMETOOLONG: "use a shorter name or a shorter path",
    errno.EROFS: "the file system cannot be written: set GRAPHRAG_DAGSTER_HOME to a folder that can",
    errno.ENOSPC: "the disk is full: make room, and run again",
    errno.EDQUOT: "your share of the disk is used up: make room, and run again",
    errno.ELOOP: "symbolic links lead in a circle: mend them",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the limit of open files of this machine",
    errno.ESTALE: "the file server has lost it: mount its file system anew",
    errno.EIO: "the disk or the file server fails: look at the system's log",
    errno.EBUSY: "another process uses it: end that one, and run again",
    errno.ENOMEM: "memory ran out: end other processes, or use a larger machine",
}


def told_of(error: OSError) -> str:
    """Return one line that names the path, what is wrong with it, and the mend."""
    why = (error.strerror or str(error) or type(error).__name__).splitlines()[0]
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    mend = _MENDS.get(error.errno or 0, "mend it, and run again")
    return f"{' and '.join(names) or 'this system'}: {why[:1].lower()}{why[1:]}; {mend}"
