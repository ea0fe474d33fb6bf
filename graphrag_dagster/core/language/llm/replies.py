"""What a reply holds: what hides it is taken off, its JSON is read and mended, its shape is checked."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Schema = TypeVar("Schema", bound=BaseModel)

_REASONING = r"think|thinking|thought|reasoning"
_HIDDEN = re.compile(rf"\A\s*<({_REASONING})>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
# Some chat templates open the reasoning themselves, so that only its end is in the reply.
_HIDDEN_HEAD = re.compile(rf"\A[^{{\[(`]*?</(?:{_REASONING})>", re.IGNORECASE | re.DOTALL)
_FINAL_CHANNEL = re.compile(r"\A.*<\|channel\|>final<\|message\|>", re.DOTALL)
_END_MARKS = re.compile(
    r"(?:<\|(?:im_end|end|eot_id|return|endoftext|end_of_text)\|>|</s>|<end_of_turn>)\s*\Z"
)
_FENCED = re.compile(r"\A\s*```[\w-]*[ \t]*\n(?P<inside>.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_FENCE_ANYWHERE = re.compile(r"```(?:json)?[ \t]*\n(?P<inside>\s*[\[{].*?)\n?[ \t]*```", re.DOTALL)
_JSON_START = re.compile(r"\{|\[(?=\s*[{\]])")
_CONTINUES = re.compile(r"\A\s*,|\"\s*:")
_QUOTE = re.compile(r'(?<!\\)"')
_NOT_HOLDABLE = re.compile("[\ud800-\udfff\x00]")
_PLACEHOLDER = re.compile(
    r"\s*(?:<\s*\w+(?:[\s_|-]\w+)*\s*>|\{\{?\s*\w+\s*\}?\}|\[\s*\w+_\w+\s*\]"
    r"|\.{3}|…|string|str|text|null)\s*",
    re.IGNORECASE,
)


class NotUsable(Exception):
    """Raised by what reads a reply, with the reason that the model is told."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A JSON value, and whether the text had to be mended to give it."""

    value: Any = field(repr=False)
    repaired: bool


def visible(text: str) -> str:
    """Return a reply without hidden reasoning, end marks of chat templates, and a code fence round it all."""
    shown = _FINAL_CHANNEL.sub("", text)
    shown = _HIDDEN_HEAD.sub("", _HIDDEN.sub("", shown))
    shown = _END_MARKS.sub("", shown).strip()
    fenced = _FENCED.match(shown)
    return fenced["inside"].strip() if fenced and "```" not in fenced["inside"] else shown


def is_hidden(text: str) -> bool:
    """Return whether a reply begins with hidden reasoning."""
    return bool(_HIDDEN.match(text) or _HIDDEN_HEAD.match(text))


def parse_json(text: str) -> Parsed:
    """Return the JSON value in a visible reply; words around it are left aside, damage is mended.

    Several values one after the other come as a list.

    Raises:
        NotUsable: there is none, or it ends before it is complete.
    """
    fenced = _FENCE_ANYWHERE.search(text)
    body = fenced["inside"] if fenced else text
    start = _JSON_START.search(body)
    if not start:
        raise NotUsable("the reply holds no JSON")
    decoder = json.JSONDecoder(strict=False)
    try:
        value, end = decoder.raw_decode(body, start.start())
    except (ValueError, RecursionError):
        return Parsed(_mended(body[start.start() :].rstrip("`\n\t .;")), repaired=True)
    values = [value]
    while start := _JSON_START.search(body, end):
        try:
            value, end = decoder.raw_decode(body, start.start())
            values.append(value)
        except (ValueError, RecursionError):
            return Parsed(_mended(body), repaired=True)
    return Parsed(holdable(values if len(values) > 1 else value), repaired=len(values) > 1)


def _mended(body: str) -> Any:
    from json_repair import repair_json

    end = max(body.rfind("}"), body.rfind("]")) + 1
    tail = body[end:]
    if not end or _CONTINUES.search(tail) or (tail.strip() and len(_QUOTE.findall(body)) % 2):
        raise NotUsable("the JSON of the reply ends before it is complete")
    try:
        value = repair_json(body[:end], return_objects=True)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict | list) or not value:
        raise NotUsable("the JSON of the reply cannot be read")
    return holdable(value)


def holdable(value: Any) -> Any:
    """Return a JSON value whose strings UTF-8 and databases can hold: no lone surrogates, no NUL."""
    if isinstance(value, str):
        return _NOT_HOLDABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [holdable(item) for item in value]
    if isinstance(value, dict):
        return {holdable(key): holdable(item) for key, item in value.items()}
    return value


def read_typed(text: str, schema: type[Schema]) -> tuple[Schema, bool]:
    """Return a visible reply as an instance of ``schema``, and whether its JSON was mended.

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
