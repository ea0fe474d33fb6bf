"""Answers as server-sent events."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.responses import StreamingResponse

from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.service.asking import Asking
from graphrag_dagster.service.guarding.errors import Refusal, error_body, refusal_of
from graphrag_dagster.service.models import AnswerBody

MEDIA_TYPE = "text/event-stream"
Heard = str | Answer | None
Render = Callable[[Heard | Refusal], list[bytes]]


def documented_stream(description: str, *names: str) -> dict[str, Any]:
    """Return the OpenAPI entry of an answer that may come as a stream of events of such names."""
    properties: dict[str, Any] = {"data": {"type": "string", "description": "JSON, but for a last `[DONE]`"}}
    if names:
        properties["event"] = {"type": "string", "enum": list(names)}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


def streaming(chunks: AsyncIterator[bytes]) -> StreamingResponse:
    """Return the response that sends events as they come."""
    return StreamingResponse(chunks, media_type=MEDIA_TYPE, headers={"Cache-Control": "no-cache"})


def event(data: Any, name: str | None = None) -> bytes:
    """Return one event with its data as one line of JSON."""
    return format_sse_event(data_str=json.dumps(data, ensure_ascii=False), event=name)


async def stream(asking: Asking, first: Heard, render: Render, ping_seconds: float) -> AsyncIterator[bytes]:
    """Yield an answer as it comes; the thread that answers is left to itself where nobody listens any more.

    Args:
        asking: what is under way.
        first: what was heard of it already.
        render: gives the events of a piece of text, of the answer, or of the error that ended it.
        ping_seconds: how often to send a comment while nothing is heard.
    """
    try:
        heard = first
        while True:
            for chunk in render(heard) if heard is not None else [KEEPALIVE_COMMENT]:
                yield chunk
            if isinstance(heard, Answer):
                return
            try:
                heard = await asking.hear(ping_seconds)
            except Exception as error:
                for chunk in render(refusal_of(error)):
                    yield chunk
                return
    finally:
        asking.drop()


def plain(heard: Heard | Refusal) -> list[bytes]:
    """Return the events ``delta``, ``answer`` or ``error``."""
    match heard:
        case str():
            return [event({"text": heard}, "delta")]
        case Answer():
            return [event(AnswerBody.of(heard).json_values(), "answer")]
        case Refusal():
            return [event(error_body("", heard), "error")]
    return []
