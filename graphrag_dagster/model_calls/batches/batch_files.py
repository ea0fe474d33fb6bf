"""The files of a Batch API: requests as lines, and what became of each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphrag_dagster.core.language.chat.port import ChatReply
from graphrag_dagster.model_calls.endpoint import envelope
from graphrag_dagster.model_calls.endpoint.chat import read_reply
from graphrag_dagster.model_calls.endpoint.trouble import is_out_of_credit

#: Where the requests of a batch go.
CHATS: Final = "/v1/chat/completions"
_SHOWN = 400
_WHOLE_ENDPOINT = frozenset({401, 402, 403, 404})
_PASSING = frozenset({408, 409, 425, 429})
_NOT_BEGUN = frozenset({"batch_expired", "batch_cancelled"})


@dataclass(frozen=True, slots=True)
class LineResult:
    """What became of one request of a batch.

    ``reply``: it was answered. ``refused``: the endpoint will not do it, and why. ``failed``: it was tried in
    vain, and why. ``problem``: what hinders all requests, such as a wrong model. All None: it was not begun.
    """

    key: bytes
    reply: ChatReply | None = None
    refused: str | None = None
    failed: str | None = None
    problem: str | None = None


def batch_line(key: bytes, body: Mapping[str, Any]) -> bytes:
    """Return a request as a line of a batch file; its name is the key in hexadecimal digits."""
    line = {"custom_id": key.hex(), "method": "POST", "url": CHATS, "body": body}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def key_of(line: Mapping[str, Any]) -> bytes | None:
    """Return the key of a line that :func:`batch_line` made, None of any other."""
    try:
        return bytes.fromhex(line["custom_id"])
    except (KeyError, TypeError, ValueError):
        return None


def read_result(line: Mapping[str, Any]) -> LineResult | None:
    """Return what a line of an output or error file tells; None where it belongs to no request of ours."""
    key = key_of(line)
    if key is None:
        return None
    response, error = line.get("response"), line.get("error")
    if not isinstance(response, dict):
        told = error if isinstance(error, dict) else {}
        if told.get("code") in _NOT_BEGUN:
            return LineResult(key)
        return LineResult(key, failed=said(told, "no answer and no reason"))
    status, body = response.get("status_code"), response.get("body")
    body = body if isinstance(body, dict) else {}
    if status == 200 and not body.get("error"):
        reply = read_reply(body)
        if reply.finish_reason == "error":
            return LineResult(key, failed="the reply was broken off")
        return LineResult(key, reply=reply)
    inner = body.get("error")
    reason = f"{said(inner if isinstance(inner, dict) else body, 'no reason given')} ({status})"
    if status in _WHOLE_ENDPOINT or is_out_of_credit(inner or body):
        return LineResult(key, problem=reason)
    refused = isinstance(status, int) and 400 <= status < 500 and status not in _PASSING
    return LineResult(key, refused=reason) if refused else LineResult(key, failed=reason)


def json_object(raw: str) -> dict[str, Any]:
    """Return the JSON object of a line, an empty one where it is none."""
    return envelope.json_object(raw) or {}


def said(told: Mapping[str, Any], otherwise: str) -> str:
    """Return the message of an error, else its code, in one short line."""
    return short(str(told.get("message") or told.get("code") or otherwise))


def short(text: str) -> str:
    """Return a text in one line, cut where it is long."""
    folded = " ".join(text.split())
    return folded if len(folded) <= _SHOWN else folded[:_SHOWN] + " …"
