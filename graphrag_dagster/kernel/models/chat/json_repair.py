"""A JSON reader that repairs replies of a known outline, where no word of them is lost."""

import json
import re
from collections.abc import Iterator
from typing import Any

_PART = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[^\W\d_]+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_BLANKS = "nrtbf"
_SAME = {"none": "null"}


def parse_sound_json(text: str, start: int, deepest: int) -> tuple[int, Any] | None:
    """Return the end and the value of what needs no repair; None where something might.

    Args:
        text: holds the value.
        start: its first bracket.
        deepest: most levels of brackets.
    """
    twice: list[str] = []
    decoder = json.JSONDecoder(object_pairs_hook=lambda pairs: _join_duplicate_keys(pairs, twice))
    try:
        value, end = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return None if twice or _deeper(value, deepest) else (end, value)


def _deeper(value: Any, deepest: int) -> bool:
    """Whether a value is nested deeper than so many levels."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(deepest):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def repair_reply_json(text: str) -> tuple[Any, bool]:
    """Return the value of a text that is one JSON value with matching brackets, and whether it was repaired.

    What is repaired: quotes, commas, Python's literals, line breaks in strings, a list that is given twice. A
    mend that would lose or add a word is none.

    Raises:
        ValueError: it cannot be read whole; the text says why.
    """
    twice: list[str] = []

    def joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return _join_duplicate_keys(pairs, twice)

    for strict in (True, False):
        try:
            value = json.loads(text, strict=strict, object_pairs_hook=joined)
        except (ValueError, RecursionError):
            continue
        return value, bool(twice) or not strict
    return _repair_by_library(text), True


def _join_duplicate_keys(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        known = value.get(key, item)
        if known == item:
            value[key] = item
        elif isinstance(known, list) and isinstance(item, list):
            value[key] = [*known, *item]
            twice.append(key)
        else:
            raise ValueError(f"{key} is given twice")
    return value


def _repair_by_library(text: str) -> Any:
    from json_repair import repair_json

    try:
        value = repair_json(text, return_objects=True)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict | list) or not value:
        raise ValueError("the JSON of the reply cannot be read")
    if _normalised_words(_unescape(text)) != [
        part for said in _text_values(value) for part in _normalised_words(said)
    ]:
        raise ValueError("the JSON of the reply is damaged so that some of it would be lost")
    return value


def _unescape(text: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        return chr(int(escape[1], 16)) if escape[1] else " " if escape[2] in _BLANKS else escape[2]

    return _ESCAPE.sub(meant, text)


def _text_values(value: Any) -> Iterator[str]:
    """Keys, texts and other values in their order."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _text_values(item)
    elif isinstance(value, list):
        for item in value:
            yield from _text_values(item)
    else:
        yield "null" if value is None else str(value)


def _normalised_words(text: str) -> list[str]:
    """Words in small letters and numbers, each written in one way."""
    found = (part.casefold() for part in _PART.findall(text))
    return [repr(float(part)) if part[0].isdigit() else _SAME.get(part, part) for part in found]
