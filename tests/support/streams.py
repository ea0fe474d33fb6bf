"""Streamed answers: server-sent events of a few words each."""

import json
import re
from typing import Any

from support.chat_replies import usage
from support.faults import Body
from support.scripted_replies import Scripted

_FEW_WORDS = re.compile(r"(?:\s*\S+){1,4}|\s+")
DONE = b"data: [DONE]\n\n"


def events(body: Body, reply: Scripted) -> list[bytes]:
    """The events of a reply whose tokens are counted, ``[DONE]`` the last."""
    counted = bool((body.get("stream_options") or {}).get("include_usage"))
    parts: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    parts += [{"reasoning_content": words} for words in _FEW_WORDS.findall(reply.reasoning or "")]
    parts += [{"content": words} for words in _FEW_WORDS.findall(reply.text)]
    choices: list[list[dict[str, Any]]] = [
        [{"index": 0, "delta": part, "finish_reason": None}] for part in parts
    ]
    choices.append([{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}])
    chunks = [_chunk(body, one, {"usage": None} if counted else {}) for one in choices]
    if counted:
        chunks.append(_chunk(body, [], {"usage": usage(reply)}))
    return [*chunks, DONE]


def _chunk(body: Body, choices: list[dict[str, Any]], more: dict[str, Any]) -> bytes:
    told = {
        "id": "scripted",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": body["model"],
        "choices": choices,
        **more,
    }
    return f"data: {json.dumps(told)}\n\n".encode()


def chunked(data: bytes) -> bytes:
    """Data in the form of chunked transfer."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n" if data else b""


LAST_CHUNK = b"0\r\n\r\n"
