"""Parses a reply: strips hidden reasoning, reads and repairs its JSON, and checks its shape."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_dagster.kernel.models.chat.hidden_reasoning import split
from graphrag_dagster.kernel.models.chat.json_repair import parse_sound_json, repair_reply_json

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


class UnfinishedValue(Broken):
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


def outline_json(text: str, start: int) -> Outline:
    """Return the outline of the value whose bracket is at ``start``; in one pass over the text.

    Raises:
        UnfinishedValue: it ends before it is complete.
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
            if mark[0] == '"' or _text_before(text, mark.start()) in _BEFORE_STRING:
                at = _end_of_string(text, at, mark[0])
        elif (at := _end_of_comment(text, mark)) > mark.end():
            parts.append(text[kept : mark.start()])
            kept = at
    raise UnfinishedValue("the JSON of the reply ends before it is complete")


def _end_of_string(text: str, at: int, begin: str) -> int:
    for mark in _IN_STRING[begin].finditer(text, at):
        if mark[0] == _CLOSED_BY[begin] and _AFTER_STRING.match(text, mark.end()):
            return mark.end()
    return len(text)


def _end_of_comment(text: str, mark: re.Match[str]) -> int:
    """One past a comment; the end of the mark where it begins none, as in an unquoted ``#1``."""
    if mark[0] == "#" and _text_before(text, mark.start(), " \t") not in _BEFORE_COMMENT:
        return mark.end()
    closing = "*/" if mark[0] == "/*" else "\n"
    found = text.find(closing, mark.end())
    return len(text) if found < 0 else found + len(closing)


def _text_before(text: str, place: int, blank: str = " \t\r\n") -> str:
    place -= 1
    while place >= 0 and text[place] in blank:
        place -= 1
    return text[place] if place >= 0 else ""


Schema = TypeVar("Schema", bound=BaseModel)

_END_MARKS = re.compile(
    r"(?:<\|(?:im_end|end|eot_id|return|endoftext|end_of_text|end_of_turn_token)\|>|</s>|<end_of_turn>|<turn\|>)\s*\Z"
)
_FENCE = re.compile(r"```[\w-]{0,20}[ \t]*\n")
_JSON_START = re.compile(r"""\{(?=\s*(?:["'“}#]|/[/*]|[\w$-]{1,60}\s{0,3}:))|\[(?=[\s\[]{0,99}[{\]])""")
_DEEPEST = 64
_KEY = re.compile(r"\"\s*:")
_UNOPENED = re.compile(r"\s*[}\]]")
_UNCLOSED = re.compile(r"[{\[]\s*\Z")
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


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A JSON value, and whether the text had to be repaired to give it."""

    value: Any = field(repr=False)
    repaired: bool


def visible_text(text: str) -> str:
    """Return a reply without hidden reasoning, end marks of chat templates, and a code fence round it all."""
    shown = _END_MARKS.sub("", split(_END_MARKS.sub("", text)).shown).strip()
    opening = _FENCE.match(shown)
    if not opening or not shown.endswith("```"):
        return shown
    inside = shown[opening.end() : -3]
    return shown if "```" in inside else inside.strip()


def is_hidden(text: str) -> bool:
    """Return whether a reply holds hidden reasoning."""
    return split(text).hidden


def parse_json(text: str) -> ParsedReply:
    """Return the JSON value in a visible reply; words around it are left aside, harmless damage is repaired.

    Several values one after the other come as a list. A value whose brackets do not match is never closed for
    the model: what it lost with its end is not known.

    Raises:
        NotUsable: there is none, it ends before it is complete, or repairing it would lose some of it.
    """
    fence = _FENCE.search(text)
    begin = fence.end() if fence and _JSON_START.match(text[fence.end() :].lstrip()) else 0
    start = _JSON_START.search(text, begin)
    if not start:
        raise NotUsable("the reply holds no JSON")
    before = text[begin : start.start()]
    values, repaired = [], False
    while start:
        end, value, mended = _value_at(text, start.start())
        values.append(value)
        start = _JSON_START.search(text, end)
        between = text[end : start.start() if start else len(text)]
        repaired |= mended | _has_unmatched_brackets(before, between)
    whole = values if len(values) > 1 else values[0]
    may_not_hold = "\\u" in text or not _is_storable(text)
    return ParsedReply(storable(whole) if may_not_hold else whole, repaired=repaired or len(values) > 1)


def _value_at(text: str, start: int) -> tuple[int, Any, bool]:
    """One past the value that begins at a place, the value, and whether it was repaired."""
    if sound := parse_sound_json(text, start, _DEEPEST):
        return *sound, False
    try:
        found = outline_json(text, start)
        if found.depth > _DEEPEST:
            raise NotUsable(f"the JSON of the reply is nested {found.depth:,} deep")
        value, mended = repair_reply_json(found.text)
        return found.end, value, mended or found.commented
    except UnfinishedValue as problem:
        raise CutOff(str(problem)) from None
    except ValueError as problem:
        raise NotUsable(str(problem)) from None


def _has_unmatched_brackets(before: str, after: str) -> bool:
    """Return whether brackets too many follow a value; words may stand before and after it.

    Raises:
        NotUsable: what stands there are pieces of JSON, so that something was lost.
    """
    closed_again = _UNOPENED.match(after) is not None
    pieces = after.lstrip().startswith(",") and after.strip() != ","
    if pieces or _KEY.search(after) or _UNCLOSED.search(after) or (closed_again and '"' in before):
        raise NotUsable("the reply holds pieces of JSON without their brackets")
    return closed_again


def storable(value: Any) -> Any:
    """Return a JSON value whose strings UTF-8 and databases can hold: no lone surrogates, no NUL."""
    if isinstance(value, str):
        return value if _is_storable(value) else _NOT_HOLDABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return value


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
