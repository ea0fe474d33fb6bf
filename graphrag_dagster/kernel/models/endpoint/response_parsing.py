"""Parses the response around a reply, whatever types and sizes it has."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Tokens that one call can have; what tells of more is not believed.
_MOST_TOKENS = 1_000_000_000
#: Where servers put reasoning beside a reply, and what they call the parts of it within.
_HIDDEN_FIELDS = frozenset(
    {"reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking", "thoughts"}
)
_HIDDEN_PART = re.compile(r"think|thought|reason|summary", re.IGNORECASE)
#: Why replies end, in the words of other servers than OpenAI's.
_ENDINGS = {
    **dict.fromkeys(("end_turn", "eos", "eos_token", "stop_sequence", "complete", "completed"), "stop"),
    **dict.fromkeys(("max_tokens", "model_length", "max_output_tokens"), "length"),
    **dict.fromkeys(("network_error", "abort", "insufficient_system_resource"), "error"),
    "safety": "content_filter",
}
_LONGEST_REASON = 40


class MalformedResponse(Exception):
    """Raised where an answer is unusable; its text follows the endpoint's name."""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """Tokens of a call as the endpoint tells them; 0 where it does not."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    reasoning_tokens: int
    total: int


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return a JSON object; None where a text is none, or nested too deeply to be read."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def first(value: object) -> Mapping[str, Any]:
    """Return the JSON object that is first in a list, an empty one where there is none."""
    return mapping(value[0]) if isinstance(value, list) and value else {}


def count(value: object) -> int:
    """Return a number of tokens; 0 where it cannot be one."""
    return int(value) if isinstance(value, int | float) and 0 <= value <= _MOST_TOKENS else 0


def usage_of(answer: Mapping[str, Any]) -> ReportedUsage:
    """Return the tokens that an answer tells of."""
    usage = mapping(answer.get("usage"))
    sent, received = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    return ReportedUsage(
        sent,
        received,
        min(count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")), sent),
        count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        count(usage.get("total_tokens")) or sent + received,
    )


@dataclass(frozen=True, slots=True)
class Content:
    """Contents of a message, or of a piece of one.

    ``hidden``: it holds reasoning that is no part of the reply. ``refusal``: why the model will not answer.
    """

    text: str = ""
    hidden: bool = False
    refusal: str = ""


def content_of(message: object) -> Content:
    """Return what a message holds, in whichever of its fields and parts."""
    told = mapping(message)
    content, refusal = told.get("content"), told.get("refusal")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts: list[str] = []
    # Looked at for every piece of a stream.
    hidden = not _HIDDEN_FIELDS.isdisjoint(told) and any(told.get(name) for name in _HIDDEN_FIELDS)
    for part in map(mapping, parts):
        text = part.get("text")
        if _HIDDEN_PART.search(str(part.get("type") or "")):
            hidden = True
        elif isinstance(text, str):
            texts.append(text)
    return Content("".join(texts), hidden, refusal if isinstance(refusal, str) else "")


def finish_reason(reason: object) -> str:
    """Return why a reply ended: ``stop``, ``length``, ``refusal``, ``content_filter``, ``error``, or else.

    A server that says nothing has given all there is. What nobody knows is handed on as it is, in 40
    characters, and counts as no whole reply.
    """
    if not isinstance(reason, str) or not reason.strip():
        return "stop"
    plain = reason.strip().lower()
    return _ENDINGS.get(plain, plain[:_LONGEST_REASON])
