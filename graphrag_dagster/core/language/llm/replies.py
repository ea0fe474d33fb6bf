"""Usable replies or a reason: what hides a reply is taken off, and what fails is asked for again."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from graphrag_dagster.core.language.llm.chat import CallFailed, ChatModel, ChatReply, ChatRequest, Message
from graphrag_dagster.core.language.llm.prompts_port import Prompt
from graphrag_dagster.core.language.tasks import Usage

T = TypeVar("T")
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
_WITHHELD = frozenset({"refusal", "content_filter"})
_SHOWN = 1500


class NotUsable(Exception):
    """Raised by what reads a reply, with the reason that the model is told."""


class UnusableReply(Exception):
    """No usable reply came, however often it was asked for.

    ``prompt`` is the last user message of the first request, ``reply`` the last reply as it came.
    """

    def __init__(self, reason: str, prompt: str, reply: str, usage: Usage) -> None:
        super().__init__(reason)
        self.reason = reason
        self.prompt = prompt
        self.reply = reply
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """A reply that could be read. ``text`` is the reply without hidden reasoning and code fences.

    ``repaired``: its JSON had to be mended. ``usage`` covers all attempts.
    """

    value: T
    text: str
    usage: Usage
    repaired: bool = False


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
        NotUsable: no JSON, the schema itself instead of an instance, or a value that is not allowed.
    """
    parsed = parse_json(text)
    if is_schema(parsed.value):
        raise NotUsable("the reply is the JSON schema itself, not data of that shape")
    try:
        return schema.model_validate(parsed.value), parsed.repaired
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, detail['loc'])) or 'the reply'}: {detail['msg']}"
            for detail in error.errors()[:5]
        )
        raise NotUsable("; ".join(problems)) from None


def is_schema(value: Any) -> bool:
    """Return whether a JSON value is a JSON schema: a model may echo it instead of filling it."""
    return isinstance(value, dict) and isinstance(value.get("properties"), dict) and "type" in value


async def ask(
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[str], tuple[T, bool]],
    retry: Prompt,
    attempts: int = 3,
) -> Asked[T]:
    """Ask until the reply can be read, each time telling the model what was wrong with the last one.

    Args:
        model: answers.
        request: the first request.
        read: makes the value and whether it was mended of a visible reply; raises NotUsable.
        retry: prompt with the placeholder ``reason``.
        attempts: most requests.

    Raises:
        UnusableReply: no reply could be read, or a call failed.
        EndpointError: the endpoint cannot be used at all.
    """
    usage, current, reply, reason = Usage(), request, ChatReply(""), ""
    for _ in range(attempts):
        try:
            reply = await model.complete(current)
        except CallFailed as failure:
            failed = replace(usage, calls=usage.calls + 1)
            raise UnusableReply(str(failure), request.messages[-1].content, "", failed) from None
        usage += reply.usage
        text = visible(reply.text)
        try:
            _complete(reply, text, request.max_tokens)
            value, repaired = read(text)
        except NotUsable as problem:
            reason = str(problem)
            current = replace(request, messages=_told(request.messages, text, reason, retry))
            continue
        reply.accept()
        return Asked(value, text, usage, repaired)
    raise UnusableReply(reason, request.messages[-1].content, reply.text, usage)


async def ask_typed(
    model: ChatModel, request: ChatRequest, schema: type[Schema], retry: Prompt, attempts: int = 3
) -> Asked[Schema]:
    """Ask for JSON of a shape; ``schema`` may be more tolerant than the one the request shows the endpoint.

    Raises:
        UnusableReply: see :func:`ask`.
        EndpointError: see :func:`ask`.
    """
    return await ask(model, request, lambda text: read_typed(text, schema), retry, attempts)


def _complete(reply: ChatReply, text: str, limit: int) -> None:
    if reply.finish_reason == "length":
        raise NotUsable(f"the reply was cut off at its limit of {limit} tokens; be briefer")
    if reply.finish_reason in _WITHHELD:
        raise NotUsable(f"the model withheld its reply ({reply.finish_reason})")
    if not text:
        raise NotUsable("the reply is empty")


def _told(messages: tuple[Message, ...], text: str, reason: str, retry: Prompt) -> tuple[Message, ...]:
    # Served chat templates want the roles to alternate and no turn to be empty.
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + " …"
    return (
        *messages,
        Message("assistant", shown or "(no reply)"),
        Message("user", retry.render(reason=reason)),
    )
