"""Parses a reply: strips hidden reasoning, reads and repairs its JSON, and checks its shape."""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_dagster.kernel.models.chat.hidden_reasoning import TEMPLATE_MARK, split

Schema = TypeVar("Schema", bound=BaseModel)

_MARKS_ROUND = re.compile(
    rf"\A(?:\s*(?:{TEMPLATE_MARK.pattern}))+|(?:(?:{TEMPLATE_MARK.pattern})\s*)+\Z", re.IGNORECASE
)
_FENCE = re.compile(r"```[\w-]{0,20}[ \t]*\n")
_JSON_START = re.compile(r"""\{(?=\s*(?:["'“}]|[\w$-]{1,60}\s{0,3}:))|\[(?=[\s\[]{0,99}[{\]])|\A\[""")
#: A bracket, or a string, which may lack its end.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+("?)|[{}\[\]]', re.DOTALL)
_CLOSED_BY = {"{": "}", "[": "]"}
_DEEPEST = 64
_KEY = re.compile(r"\"\s*:")
_UNOPENED = re.compile(r"\s*[}\]]")
_PIECE = re.compile(r"\s*,\s*\S")
_UNCLOSED = re.compile(r"[{\[]\s*\Z")
_WORD = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[^\W\d_]+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_BLANKS = "nrtbf"
_TOO_DEEP = f"the JSON of the reply is nested deeper than {_DEEPEST} levels"
_NOT_HOLDABLE = re.compile("[\ud800-\udfff\x00]")
_PLACEHOLDER = re.compile(
    r"\s*(?:<\s*\w[\w\s|-]*>|\{\{?\s*\w+\s*\}?\}|\[\s*[^\W_]+_\w+\s*\]"
    r"|\.{3}|…|string|str|text|null)\s*",
    re.IGNORECASE,
)


class NotUsable(Exception):
    """Raised by what reads a reply, with the reason that the model is told."""


class CutOff(NotUsable):
    """Raised where a reply ends before it is complete, whatever the endpoint says of it."""


class Incomplete(NotUsable):
    """Raised where something is missing, but ``value``, what there is, is better than no reply at all."""

    def __init__(self, reason: str, value: Any) -> None:
        super().__init__(reason)
        self.value = value


class ParsedReply(NamedTuple):
    """A JSON value, and whether the text had to be repaired to give it."""

    value: Any
    repaired: bool


def visible_text(text: str) -> str:
    """Return a reply without hidden reasoning, marks of chat templates, and a code fence round it all."""
    shown = _MARKS_ROUND.sub("", split(text).shown).strip()
    opening = _FENCE.match(shown)
    if not opening or not shown.endswith("```"):
        return shown
    inside = shown[opening.end() : -3]
    return shown if "```" in inside else inside.strip()


def parse_json(text: str) -> ParsedReply:
    """Return the JSON value in a visible reply; words around it are left aside, harmless damage is repaired.

    Several values one after the other come as a list. A value whose brackets do not match is never closed for
    the model: what it lost with its end is not known.

    Raises:
        NotUsable: there is none, it ends before it is complete, or repairing it would lose some of it.
    """
    start = _JSON_START.search(text)
    if not start:
        raise NotUsable("the reply holds no JSON")
    before = text[: start.start()]
    values, repaired = [], False
    while start:
        end, value, was_repaired = _value_at(text, start.start())
        values.append(value)
        start = _JSON_START.search(text, end)
        between = text[end : start.start() if start else len(text)]
        repaired |= was_repaired | _has_unmatched_brackets(before, between, was_repaired)
    try:
        whole = storable(values if len(values) > 1 else values[0], _DEEPEST)
    except RecursionError:
        raise NotUsable(_TOO_DEEP) from None
    return ParsedReply(whole, repaired or len(values) > 1)


def _value_at(text: str, start: int) -> tuple[int, Any, bool]:
    """One past the value that begins at a place, the value, and whether it was repaired."""
    twice: list[str] = []
    for strict in (True, False):
        decoder = json.JSONDecoder(
            strict=strict, object_pairs_hook=lambda pairs: _join_duplicate_keys(pairs, twice)
        )
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            continue
        except RecursionError:
            _end_of_value(text, start)
            raise NotUsable(_TOO_DEEP) from None
        return end, value, bool(twice) or not strict
    end = _end_of_value(text, start)
    return end, _repair(text[start:end]), True


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
            raise NotUsable(f"{key} is given twice")
    return value


def _end_of_value(text: str, start: int) -> int:
    """One past the bracket that closes the one at a place."""
    opened: list[str] = []
    for token in _TOKEN.finditer(text, start):
        if token[0] in _CLOSED_BY:
            opened.append(token[0])
        elif token[0] in "}]":
            if _CLOSED_BY[opened.pop()] != token[0]:
                raise NotUsable("the brackets of the JSON do not match")
            if not opened:
                return token.end()
    raise CutOff("the JSON of the reply ends before it is complete")


def _repair(text: str) -> Any:
    """The value of a text whose brackets match; a repair that would lose or add a word is none."""
    from json_repair import repair_json

    try:
        value = repair_json(text, return_objects=True)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict | list) or not value:
        raise NotUsable("the JSON of the reply cannot be read")
    if _normalised_words(_unescape(text)) != [
        word for said in _text_values(value) for word in _normalised_words(said)
    ]:
        raise NotUsable("the JSON of the reply is damaged so that some of it would be lost")
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
        yield "none" if value is None else str(value)


def _normalised_words(text: str) -> list[str]:
    """Words in small letters and numbers, each written in one way."""
    found = (word.casefold() for word in _WORD.findall(text))
    return [repr(float(word)) if word[0].isdigit() else "none" if word == "null" else word for word in found]


def _has_unmatched_brackets(before: str, after: str, repaired: bool) -> bool:
    """Return whether brackets too many follow a value; words may stand before and after it.

    Raises:
        NotUsable: what stands there are pieces of JSON, so that something was lost.
    """
    closed_again = _UNOPENED.match(after) is not None
    # Of a damaged value a bracket within a string may have been taken for its end.
    pieces = ("}" in after or "]" in after) if repaired else closed_again and '"' in before
    if pieces or _KEY.search(after) or _UNCLOSED.search(after) or _PIECE.match(after):
        raise NotUsable("the reply holds pieces of JSON without their brackets")
    return closed_again


def storable(value: Any, levels: int = 1000) -> Any:
    """Return a JSON value whose strings UTF-8 and databases can hold: no lone surrogates, no NUL.

    Raises:
        RecursionError: it is nested deeper than so many levels.
    """
    if isinstance(value, str):
        return value if _is_storable(value) else _NOT_HOLDABLE.sub("\ufffd", value)
    if not isinstance(value, dict | list):
        return value
    if not levels:
        raise RecursionError
    if isinstance(value, list):
        return [storable(item, levels - 1) for item in value]
    return {storable(key): storable(item, levels - 1) for key, item in value.items()}


def _is_storable(text: str) -> bool:
    # Nearly all are, and to encode one takes a tenth of the time of looking for what it cannot hold.
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def read_typed(text: str, schema: type[Schema]) -> tuple[Schema, bool]:
    """Return a visible reply as an instance of ``schema``, and whether its JSON was repaired.

    Raises:
        NotUsable: no JSON, the schema itself or its placeholders instead of an instance, or a value that is
            not allowed.
    """
    parsed = parse_json(text)
    if is_schema(parsed.value):
        raise NotUsable("the reply is the JSON schema itself, not data of that shape")
    _refuse_placeholders(parsed.value)
    try:
        return schema.model_validate(parsed.value), parsed.repaired
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, detail['loc'])) or 'the reply'}: {detail['msg']}"
            for detail in error.errors()[:5]
        )
        raise NotUsable("; ".join(problems)) from None


def with_normalised_keys(value: Any) -> dict[str, Any]:
    """Return an object with its keys in one spelling; of something else an empty one."""
    if not isinstance(value, dict):
        return {}
    return {_normalise_key(str(key)): item for key, item in value.items()}


@lru_cache(maxsize=1024)
def _normalise_key(key: str) -> str:
    return re.sub(r"[\s-]+", "_", key.strip().lower())


def first_value(fields: dict[str, Any], names: Iterable[str]) -> Any:
    """Return the first value that stands under one of the names; None where there is none."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def is_placeholder(text: str) -> bool:
    """Return whether a text is an unfilled place of a template, such as ``<entity_name>`` or ``...``."""
    return _PLACEHOLDER.fullmatch(text) is not None


def _refuse_placeholders(value: Any) -> None:
    strings = [item for item in value.values() if isinstance(item, str)] if isinstance(value, dict) else []
    if strings and all(map(is_placeholder, strings)):
        raise NotUsable(f"the reply copies a placeholder, {strings[0]!r}, instead of filling it")


def is_schema(value: Any) -> bool:
    """Return whether a JSON value is a JSON schema: a model may echo it instead of filling it."""
    return isinstance(value, dict) and isinstance(value.get("properties"), dict) and "type" in value
