"""How the scripted endpoint comes to its answers: refusals, limits, faults, replies."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.chat_replies import Refusal, model_list
from support.faults import Body, Fault
from support.scripted_replies import Scripted
from support.streams import events
from support.tallies import Logged

if TYPE_CHECKING:
    from support.endpoint import ScriptedEndpoint

_BROKEN_JSON = b'{"choices": [{"mess'


@dataclass(frozen=True)
class Answer:
    """An answer that is sent after so many seconds; its events, if any, over so many more."""

    status: int
    content: dict[str, Any] | bytes
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    events: list[bytes] | None = None
    writing: float = 0.0


def respond(
    endpoint: "ScriptedEndpoint", logged: Logged, fault: Fault, method: str, kind: str, content: bytes
) -> Answer:
    """The answer to a request; its tokens are written into the log.

    Args:
        endpoint: the server.
        logged: the request.
        fault: what goes wrong with it.
        method: its HTTP method.
        kind: its content type.
        content: what it carries.
    """
    path = logged.path.partition("?")[0].partition("/v1/")[2].rstrip("/")
    headers: dict[str, str] = {}
    try:
        if path in {"chat/completions", "embeddings"} and method == "POST":
            return _model_answer(endpoint, logged, fault, headers)
        seconds = endpoint.seconds * fault.slower + fault.delay
        if fault.status is not None or fault.malformed:
            return _failed(fault, seconds, headers)
        if path.partition("/")[0] in {"files", "batches"}:
            return Answer(200, endpoint.batch_routes.serve(method, path, kind, content), seconds=seconds)
        if path == "models" and method == "GET":
            return Answer(200, model_list(endpoint.capabilities.models), seconds=seconds)
        raise Refusal(404, f"Unknown request URL: {method} {logged.path}", "unknown_url")
    except Refusal as refusal:
        return Answer(refusal.status, refusal.body, headers)


def answer_line(endpoint: "ScriptedEndpoint", url: str, body: Body) -> tuple[int, Body] | None:
    """Answer a line of a batch; what breaks a connection lets a line time out."""
    logged = Logged("batch", body, {})
    fault = endpoint.begin(logged) or Fault()
    try:
        if fault.drop or fault.hang or fault.stall or fault.malformed or fault.truncated:
            return None
        endpoint.capabilities.check(body)
        if fault.status is not None:
            logged.status = fault.status
            return fault.status, _error(fault)
        reply = _reply(endpoint, body, fault)
        _count(logged, reply)
        logged.status, logged.sent, logged.answered = 200, True, True
        return 200, endpoint.answer(url, body, reply)
    except Refusal as refusal:
        logged.status = refusal.status
        return refusal.status, refusal.body
    finally:
        endpoint.end(logged)


def _model_answer(
    endpoint: "ScriptedEndpoint", logged: Logged, fault: Fault, headers: dict[str, str]
) -> Answer:
    body = logged.body
    streamed = bool(body.get("stream"))
    endpoint.capabilities.check(body)
    known = _reply(endpoint, body, fault) if endpoint.rules.counts_tokens else None
    _admit(endpoint, known, headers)
    seconds = endpoint.seconds + fault.delay
    if fault.malformed and streamed:
        return Answer(200, b"", headers, seconds, [b"data: " + _BROKEN_JSON + b"\n\n"])
    if fault.status is not None or fault.malformed:
        return _failed(fault, seconds, headers)
    if fault.drop and not streamed:
        return Answer(200, b"", headers, seconds)
    reply = known or _reply(endpoint, body, fault)
    _count(logged, reply)
    if "messages" not in body:
        return Answer(200, endpoint.answer(logged.path, body, reply), headers, seconds)
    writing = endpoint.seconds_per_token * logged.output_tokens * fault.slower
    if streamed:
        return Answer(200, b"", headers, seconds, events(body, reply), writing)
    return Answer(200, endpoint.answer(logged.path, body, reply), headers, seconds + writing)


def _reply(endpoint: "ScriptedEndpoint", body: Body, fault: Fault) -> Scripted:
    if "messages" not in body:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        return Scripted("", input_tokens=sum(map(len, texts)) // 4, output_tokens=0)
    made = endpoint.capabilities.reply(endpoint.script, body)
    return endpoint.capabilities.limited(fault.spoiled(made, body), body)


def _count(logged: Logged, reply: Scripted) -> None:
    logged.input_tokens, logged.output_tokens = reply.input_tokens or 0, reply.output_tokens or 0


def _admit(endpoint: "ScriptedEndpoint", reply: Scripted | None, headers: dict[str, str]) -> None:
    if not endpoint.rules:
        return
    tokens = (reply.input_tokens or 0) + (reply.output_tokens or 0) if reply else 0
    wait, told = endpoint.rules.admit(tokens)
    if endpoint.tells_rates:
        headers.update(told)
    if wait > 0:
        if endpoint.tells_wait:
            headers["Retry-After"] = str(math.ceil(wait))
        raise Refusal(429, "Rate limit reached. Please try again later.", "rate_limit_exceeded")


def _failed(fault: Fault, seconds: float, headers: dict[str, str]) -> Answer:
    if fault.status is None:
        return Answer(200, _BROKEN_JSON, headers, seconds)
    return Answer(fault.status, _error(fault), headers, seconds)


def _error(fault: Fault) -> Body:
    return {"error": {"message": fault.message, "code": fault.code, "type": fault.kind, **fault.extra}}
