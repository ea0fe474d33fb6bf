"""Parses the response around a reply, whatever types and sizes it has."""

import json
import math
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
#: Why replies end, in the words of hosted and local servers.
_ENDINGS = {
    "stop": frozenset(
        {
            "stop",
            "stopped",
            "stop_sequence",
            "stop_str",
            "stopstringfound",
            "stop_token",
            "end",
            "end_turn",
            "end_of_turn",
            "eos",
        }
        | {"eos_token", "eos_found", "eosfound", "end_token", "complete", "completed", "done", "finish"}
        | {"finished", "normal", "success"}
    ),
    "length": frozenset(
        {"length", "max_tokens", "max_token", "max_length", "max_output_tokens", "max_new_tokens", "limit"}
        | {"max_completion_tokens", "max_tokens_reached", "max_output_reached", "model_length", "token_limit"}
        | {
            "model_context_window_exceeded",
            "context_window_exceeded",
            "context_length_exceeded",
            "incomplete",
        }
        | {
            "context_length",
            "max_context_length",
            "length_limit",
            "error_limit",
            "truncated",
            "stopped_limit",
        }
        | {"max_predicted_tokens_reached", "maxpredictedtokensreached", "contextlengthreached"}
        | {"context_length_reached"}
    ),
    "refusal": frozenset({"refusal", "refused"}),
    "content_filter": frozenset(
        {"content_filter", "content_filtered", "contentfilter", "safety", "sensitive"}
        | {"recitation", "blocklist", "prohibited_content", "spii", "guardrail", "guardrail_intervened"}
        | {"guardrails", "moderation", "blocked", "error_toxic", "model_armor", "language"}
    ),
    "error": frozenset(
        {"error", "failed", "failure", "network_error", "server_error", "internal_error", "abort", "aborted"}
        | {"cancel", "cancelled", "canceled", "timeout", "insufficient_system_resource", "unload", "load"}
        | {"user_cancel", "engine_error", "model_error", "overloaded", "other", "unspecified", "interrupted"}
        | {"malformed_function_call", "malformed_response", "disconnect", "disconnected", "user_stopped"}
        | {"userstopped", "modelunloaded", "model_unloaded"}
    ),
}
_WORD_BREAKS = re.compile(r"[\s.-]+")
_LONGEST_REASON = 40


class MalformedResponse(Exception):
    """Raised where an answer is unusable; its text follows the endpoint's name. ``again``: worth a try."""

    def __init__(self, text: str, *, again: bool = True) -> None:
        super().__init__(text)
        self.again = again


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
    """Return a number of tokens, also one that is written as text; 0 where it cannot be one."""
    if isinstance(value, str):
        try:
            value = float(value[:20])
        except ValueError:
            return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MOST_TOKENS and math.isfinite(value) else 0


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
    text, hidden, refusal = _join_parts(told.get("content"))
    said = told.get("refusal")
    return Content(
        text,
        hidden or _is_reasoning(told),
        refusal or (said if isinstance(said, str) else "refused" if said else ""),
    )


def _is_reasoning(told: Mapping[str, Any]) -> bool:
    # Looked at for every piece of a stream.
    return not _HIDDEN_FIELDS.isdisjoint(told) and any(told.get(name) for name in _HIDDEN_FIELDS)


def _join_parts(content: object) -> tuple[str, bool, str]:
    """The text of all parts, whether some are reasoning, and a refusal."""
    if isinstance(content, str):
        return content, False, ""
    given = [content] if isinstance(content, dict) else content
    parts: list[Any] = given if isinstance(given, list) else []
    if parts and all(isinstance(part, str) for part in parts):
        return "".join(parts), False, ""
    texts: list[str] = []
    hidden, refusal = False, ""
    for told in map(mapping, parts):
        kind = str(told.get("type") or "")
        if told.get("thought") is True or _HIDDEN_PART.search(kind):
            hidden = True
        elif isinstance(told.get("refusal"), str):
            refusal = refusal or told["refusal"]
        else:
            text = told.get("text", told.get("content"))
            # The typed text of some interfaces.
            text = text.get("value") if isinstance(text, dict) else text
            hidden = hidden or _is_reasoning(told)
            texts += [text] if isinstance(text, str) else []
    return "".join(texts), hidden, refusal


def finish_reason(reason: object) -> str:
    """Return why a reply ended: ``stop``, ``length``, ``refusal``, ``content_filter``, ``error``, or else.

    A server that says nothing has given all there is. What nobody knows is handed on as it is, in 40
    characters, and counts as no whole reply.
    """
    if not isinstance(reason, str) or not reason.strip():
        return "stop"
    plain = _WORD_BREAKS.sub("_", reason.strip()).lower()
    # As enumerations are written out, such as FinishReason.MAX_TOKENS.
    plain = plain.removeprefix("finishreason_").removeprefix("finish_reason_")
    known = next((kind for kind, words in _ENDINGS.items() if plain in words), None)
    return known or plain[:_LONGEST_REASON]
