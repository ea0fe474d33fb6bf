"""Texts of strangers made safe to show: what commands a terminal is spelt out instead of obeyed."""

import json
import math
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
